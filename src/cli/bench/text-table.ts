/** Rows for people: each value below its title, for rows appear one by one, long before the last is known. */

/** Title, least width, value of what a line is about. */
export type Column<Of extends readonly unknown[]> = readonly [
  title: string,
  width: number,
  cell: (...of: Of) => string | number | null,
];

export function textTable<Of extends readonly unknown[]>(columns: readonly Column<Of>[]) {
  const line = (cells: readonly string[]): string =>
    `${cells.map((cell, index) => cell.padStart(columns[index]?.[1] ?? 0)).join(" ")}\n`;
  return {
    head: (): string => line(columns.map(([title]) => title)),
    row: (...of: Of): string => line(columns.map(([, , cell]) => String(cell(...of) ?? "-"))),
  };
}
