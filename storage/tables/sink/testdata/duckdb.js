// Runs queries in DuckDB: {"modules": FOLDER, "queries": [SQL…]} on the standard input, a list for each query of its columns'
// types and rows on the standard output.
const fs = require("fs");
const path = require("path");

const asked = JSON.parse(fs.readFileSync(0, "utf8"));
const { DuckDBInstance } = require(path.join(asked.modules, "@duckdb", "node-api"));

(async () => {
  const db = await (await DuckDBInstance.create(":memory:")).connect();
  const answers = [];
  for (const query of asked.queries) {
    const reader = await db.runAndReadAll(query);
    const types = {};
    reader.columnNames().forEach((name, i) => (types[name] = reader.columnType(i).toString()));
    answers.push({ types, rows: reader.getRowsJson() });
  }
  fs.writeFileSync(1, JSON.stringify(answers));
})().catch((e) => {
  console.error(String(e));
  process.exit(1);
});
