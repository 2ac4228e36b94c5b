/** Pixel formats by the names of the YAML; the same table as addon/core/format.cpp (a test compares them). */

export interface PixelFormatInfo {
  /** Samples per pixel: 1 or 3. */
  readonly samples: number;
  readonly bytesPerSample: number;
}

export const pixelFormats = {
  mono8: { samples: 1, bytesPerSample: 1 },
  mono16: { samples: 1, bytesPerSample: 2 },
  mono32f: { samples: 1, bytesPerSample: 4 },
  rgb8: { samples: 3, bytesPerSample: 1 },
  rgb16: { samples: 3, bytesPerSample: 2 },
  rgb32f: { samples: 3, bytesPerSample: 4 },
  rgb8_planar: { samples: 3, bytesPerSample: 1 },
  rgb16_planar: { samples: 3, bytesPerSample: 2 },
  rgb32f_planar: { samples: 3, bytesPerSample: 4 },
} as const satisfies Record<string, PixelFormatInfo>;

export type PixelFormatName = keyof typeof pixelFormats;
export const pixelFormatNames = Object.keys(pixelFormats) as PixelFormatName[];
