package forgery

import (
	"slices"
	"testing"

	"curtsy/storage/audit/finding"
)

// heading makes a row that forges the heads of an exchange's records, which the ledger does not bind.
func heading(name string, forge func(x exchange)) row {
	return on(bread, name, finding.BadRecord, func(_ *testing.T, x exchange) { forge(x) })
}

// headRows forge heads of records. TestEachFieldOfEachHeadIsHeld does so with every field.
var headRows = []row{
	heading("the address of a request", func(x exchange) { x.ask.set("WARC-IP-Address", "198.18.0.77") }),
	heading("a later date of a request", func(x exchange) { x.ask.set("WARC-Date", "2030-01-01T00:00:00.000000Z") }),
	heading("another response that a request names", func(x exchange) { x.ask.set("WARC-Concurrent-To", "<urn:uuid:0>") }),
	heading("the media type of a request", func(x exchange) { x.ask.set("Content-Type", "application/http") }),
	heading("a request is called cut", func(x exchange) { x.ask.set("WARC-Truncated", "length") }),
	heading("the date of metadata", func(x exchange) { x.told.set("WARC-Date", "2030-01-01T00:00:00.000000Z") }),
	heading("the URL of metadata", func(x exchange) { x.told.set("WARC-Target-URI", plums) }),
	heading("the id of metadata", func(x exchange) { x.told.set("WARC-Record-ID", "<urn:uuid:0>") }),
	heading("metadata is called cut", func(x exchange) { x.told.set("WARC-Truncated", "length") }),
	heading("an address in metadata", func(x exchange) { x.told.set("WARC-IP-Address", "198.18.0.77") }),
	heading("the warcinfo record that an answer names", func(x exchange) { x.answer.set("WARC-Warcinfo-ID", "<urn:uuid:0>") }),
	heading("a field that this crawler does not write", func(x exchange) { x.answer.set("WARC-Identified-Payload-Type", "text/html") }),
	{class: inArchive, name: "the id of the warcinfo record", found: finding.BadRecord, forge: func(e *evidence) {
		e.kind("warcinfo")[0].set("WARC-Record-ID", "<urn:uuid:0>")
	}},
	{class: inArchive, name: "the requests of two pages have changed places", found: finding.BadRecord, forge: func(e *evidence) {
		i := slices.Index(e.records, e.of(bread).ask)
		j := slices.Index(e.records, e.of(plums).ask)
		e.records[i], e.records[j] = e.records[j], e.records[i]
	}},
	{class: inArchive, name: "request and answer have changed places", found: finding.BadRecord, forge: func(e *evidence) {
		i := slices.Index(e.records, e.of(bread).ask)
		e.records[i], e.records[i+1] = e.records[i+1], e.records[i]
	}},
	{class: inArchive, name: "a revisit of a record that is not there", found: finding.BadRecord, forge: func(e *evidence) {
		e.revisit().answer.set("WARC-Refers-To", "<urn:uuid:0>")
	}},
	{class: inArchive, name: "a revisit that names no record", found: finding.BadRecord, forge: func(e *evidence) {
		e.revisit().answer.del("WARC-Refers-To")
	}},
	{class: inArchive, name: "a revisit of a missing record: another record, URL and date", found: finding.FileDiffers, forge: func(e *evidence) {
		r := e.revisit().answer
		r.set("WARC-Refers-To", "<urn:uuid:0>")
		r.set("WARC-Refers-To-Target-URI", "http://bakery.test/nothing")
	}},
	{class: inArchive, name: "when refusals were written to the archive", found: finding.FileDiffers, forge: func(e *evidence) {
		e.refusals().set("WARC-Date", "2030-01-01T00:00:00.000000Z")
	}},
	{class: inArchive, name: "the id of a record of refusals", found: finding.FileDiffers, forge: func(e *evidence) {
		e.refusals().set("WARC-Record-ID", "<urn:uuid:0>")
	}},
}
