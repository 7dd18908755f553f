// Runs the statements of standard input in DuckDB, in the folder that is named, and prints the rows of the last one: names
// of columns, then values.
import { DuckDBInstance } from "@duckdb/node-api";

process.chdir(process.argv[2]);
let sql = "";
for await (const part of process.stdin) sql += part;
const db = await (await DuckDBInstance.create(":memory:")).connect();
await db.run("SET TimeZone='UTC'");
const statements = await db.extractStatements(sql);
let rows;
for (let i = 0; i < statements.count; i++) rows = await (await statements.prepare(i)).runAndReadAll();
const shown = (value) => (value === null ? "" : typeof value === "object" ? JSON.stringify(value) : String(value));
console.log(rows.columnNames().join(" | "));
for (const row of rows.getRowsJson()) console.log(row.map(shown).join(" | "));
