import { DuckDBInstance } from '@duckdb/node-api'
let sql=''; for await (const c of process.stdin) sql+=c
const db = await (await DuckDBInstance.create(':memory:')).connect()
await db.run("SET TimeZone='UTC'")
let r; for (const s of await db.extractStatements(sql).then(async e=>{const a=[];for(let i=0;i<e.count;i++)a.push(await e.prepare(i));return a})) r = await s.runAndReadAll()
console.log(r.columnNames().join(' | ')); for (const row of r.getRowsJson()) console.log(row.map(v=>typeof v==='string'?v:JSON.stringify(v)).join(' | '))
