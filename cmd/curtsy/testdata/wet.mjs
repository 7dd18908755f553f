// Prints what warcio finds in a WET file: a line of JSON for each record.
import { createReadStream } from "node:fs";
import { WARCParser } from "warcio";

for await (const record of new WARCParser(createReadStream(process.argv[2]))) {
  const text = await record.contentText();
  const field = (name) => record.warcHeader(name) ?? "";
  console.log(JSON.stringify({
    type: record.warcType, url: record.warcTargetURI ?? "", date: record.warcDate, refers: field("WARC-Refers-To"),
    languages: field("WARC-Identified-Content-Language"), media: record.warcContentType, text,
  }));
}
