/**
 * A call of a program, whose arguments are known but for those of a task.
 * @param ports address of the first port table
 * @param stride bytes from one port table to the next
 * @returns the first row that it cannot compute, or -1
 */
export type Compiled = (rows: number, ports: number, stride: number) => number;
