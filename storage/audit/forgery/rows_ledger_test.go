package forgery

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"curtsy/storage/audit/finding"
)

// saying makes a row that gives a field of a line another value, and makes and signs the log anew.
func saying(url, name, field, value string, found finding.Code) row {
	return row{class: inLedger, name: name, found: found, forge: func(e *evidence) {
		e.value(e.lineOf(e.of(url)), field, value)
		e.resign()
	}}
}

// ledgerRows forge the ledger and leave the archive as it is.
var ledgerRows = slices.Concat(wholeRows, lineRows, lineFields, refusalRows)

// wholeRows forge the log, and what ties it to a key.
var wholeRows = []row{
	{class: inLedger, name: "a line is edited, and the log left", found: finding.LedgerLines, forge: func(e *evidence) {
		e.value(e.lineOf(e.of(bread)), "status", "201")
	}},
	{class: inLedger, name: "a line is removed, and the log left", found: finding.LedgerLines, forge: func(e *evidence) { e.cut(e.lineOf(e.of(bread))) }},
	{class: inLedger, name: "two lines are swapped, and the log left", found: finding.LedgerLines, forge: func(e *evidence) {
		i, j := e.lineOf(e.of(bread)), e.lineOf(e.of(plums))
		e.book[i], e.book[j] = e.book[j], e.book[i]
	}},
	{class: inLedger, name: "a line is added, and the log left", found: finding.LedgerLines, forge: func(e *evidence) {
		i := e.lineOf(e.of(bread))
		e.book = slices.Insert(e.book, i, e.book[i])
	}},
	{class: inLedger, name: "the signature of a checkpoint is spoilt", found: finding.LedgerSigner, forge: func(e *evidence) {
		for name, note := range e.beside {
			if strings.HasPrefix(name, "checkpoint") {
				n := len(note) - 8
				e.beside[name] = note[:n] + map[bool]string{true: "B", false: "A"}[note[n] == 'A'] + note[n+1:]
			}
		}
		e.changed = true
	}},
	{class: inLedger, name: "the key of the run is another's, and the signatures are left", found: finding.LedgerSigner, forge: func(e *evidence) {
		signed := maps.Clone(e.beside)
		e.remake(otherKey)
		for name, note := range e.beside {
			text, _, _ := strings.Cut(note, "\n\n")
			_, signature, _ := strings.Cut(signed["checkpoint"], "\n\n")
			e.beside[name] = text + "\n\n" + signature
		}
	}},
	{class: inLedger, name: "another key signs it", found: finding.LedgerHead, with: lodged, forge: func(e *evidence) { e.remake(otherKey) }},
	{class: inLedger, name: "it is not signed", found: finding.LedgerHead, with: lodged, forge: func(e *evidence) { e.remake(nil) }},
	{class: inLedger, name: "its first mark is removed", found: finding.LedgerLines, forge: func(e *evidence) {
		e.cut(e.line(`"mark":"begin"`))
		e.resign()
	}},
	{class: inLedger, name: "it is gone", found: finding.LedgerLines, forge: func(e *evidence) { e.book = nil }},
	{class: inLedger, name: "it is empty", found: finding.LedgerMissing, forge: func(e *evidence) { e.book = []string{} }},
	{class: inLedger, name: "it is cut off a minute before its end, as by a kill", found: finding.LedgerMissing, forge: func(e *evidence) {
		e.book = e.book[:e.lineOf(e.of(platforms))+1]
		e.resign()
	}},
	{class: inLedger, name: "its last moments are cut off, as by a kill", found: finding.LedgerHead, with: lodged, forge: func(e *evidence) {
		e.book = e.book[:len(e.book)-3]
		e.resign()
	}},
	{class: inLedger, name: "two lines are swapped", found: finding.LedgerHead, with: lodged, forge: func(e *evidence) {
		i, j := e.lineOf(e.of(bread)), e.lineOf(e.of(plums))
		e.book[i], e.book[j] = e.book[j], e.book[i]
		e.resign()
	}},
	{class: inLedger, name: "when a decision was recorded", found: finding.LedgerHead, with: lodged, forge: func(e *evidence) {
		e.value(e.lineOf(e.of(bread)), "time", `"2000-01-01T00:00:04.000000Z"`)
		e.resign()
	}},
}

// lineRows take lines out, or add some.
var lineRows = []row{
	{class: inLedger, name: "the line of a page is removed", found: finding.LedgerMissing, forge: func(e *evidence) {
		e.cut(e.lineOf(e.of(bread)))
		e.resign()
	}},
	{class: inLedger, name: "the line of a page is there twice", found: finding.LedgerExtra, forge: func(e *evidence) {
		i := e.lineOf(e.of(bread))
		e.book = slices.Insert(e.book, i, e.book[i])
		e.resign()
	}},
	{class: inLedger, name: "the line of a page is invented", found: finding.LedgerExtra, forge: func(e *evidence) {
		i := e.lineOf(e.of(bread))
		e.book = slices.Insert(e.book, i, e.book[i])
		e.value(i, "record", `"urn:uuid:00000000-0000-4000-8000-000000000000"`)
		e.value(i, "url", `"http://bakery.test/buns"`)
		e.resign()
	}},
	{class: inLedger, name: "an attempt that reached no server is invented", found: finding.LedgerHead, with: lodged, forge: func(e *evidence) {
		i := e.lineOf(e.of(bread))
		e.book = slices.Insert(e.book, i, `{"time":"2000-01-01T00:00:03.000000Z","url":"http://bakery.test/buns","decision":"allow","attempt":1,"salt":"0123456789abcdef0123456789abcdef"}`+"\n")
		e.resign()
	}},
	{class: inLedger, name: "the lines of a host are removed", found: finding.LedgerMissing, forge: func(e *evidence) {
		e.book = slices.DeleteFunc(e.book, func(l string) bool { return strings.Contains(l, `"url":"http://harbour.test/`) })
		e.resign()
	}},
	{class: inLedger, name: "the line of a request names no record", found: finding.LedgerMissing, forge: func(e *evidence) {
		e.edit(e.lineOf(e.of(bread)), `,"record":"[^"]*"`, "")
		e.resign()
	}},
	{class: inLedger, name: "the line of a request names another record", found: finding.LedgerExtra, forge: func(e *evidence) {
		e.value(e.lineOf(e.of(bread)), "record", `"urn:uuid:00000000-0000-4000-8000-000000000000"`)
		e.resign()
	}},
}

// other is a digest of nothing here.
var other = strconv.Quote(strings.Repeat("ab", 32))

// lineFields give each field of a line another value.
var lineFields = []row{
	saying(bread, "a URL", "url", `"http://bakery.test/buns"`, finding.LedgerDiffers),
	saying(bread, "when a request started", "began", `"2000-01-01T00:00:03.000001Z"`, finding.LedgerDiffers),
	saying(bread, "a status", "status", "201", finding.LedgerDiffers),
	saying(bread, "an address", "address", `"198.18.0.77:80"`, finding.LedgerDiffers),
	saying(bread, "octets", "octets", "100", finding.LedgerDiffers),
	saying(bread, "a media type", "type", `"application/pdf"`, finding.LedgerDiffers),
	saying(bread, "a payload", "payload_sha256", other, finding.LedgerDiffers),
	saying("http://harbour.test/long", "why an answer ends early", "truncated", `"time"`, finding.LedgerDiffers),
	saying(bread, "the commitment to the records", "blocks_sha256", other, finding.LedgerDiffers),
	saying(bread, "the commitment to the heads", "heads_sha256", other, finding.LedgerDiffers),
	saying(bread, "a decision", "decision", `"robots"`, finding.LedgerDiffers),
	saying(bread, "a reason", "reason", `"allow rule"`, finding.LedgerDiffers),
	saying(bread, "an outcome", "outcome", `"failed"`, finding.LedgerDiffers),
	saying(bread, "an attempt", "attempt", "3", finding.LedgerDiffers),
	saying("http://bakery.test/kitchen/tour", "the line of robots.txt that decided", "line", "2", finding.LedgerDiffers),
	saying("http://bakery.test/kitchen/tour", "the rule that decided", "rule", `"Allow: /"`, finding.LedgerDiffers),
	saying(bread, "the group that decided", "group", `"curtsy"`, finding.LedgerDiffers),
	saying("http://bakery.test/kitchen/tour", "the rule that decided nearly", "runner_up", `"Disallow: /k"`, finding.LedgerDiffers),
	saying(bread, "the robots.txt that decided", "robots_sha256", other, finding.LedgerDiffers),
	saying(bread, "the record of robots.txt", "robots_record", `"urn:uuid:00000000-0000-4000-8000-000000000000"`, finding.LedgerDiffers),
	saying(bread, "the standard that it was read by", "standard", `"std1994"`, finding.LedgerDiffers),
	saying(timetable, "a pace", "pace_ms", "1000", finding.LedgerDiffers),
	saying(timetable, "the reason for a delay due", "pace_by", `"floor"`, finding.LedgerDiffers),
	saying(timetable, "a delay", "gap_ms", "4000", finding.LedgerDiffers),
	saying("http://library.test/hours", "a back-off", "rest_ms", "1", finding.LedgerDiffers),
	saying("http://library.test/hours", "the reason for a back-off", "rest_by", `"errors"`, finding.LedgerDiffers),
	saying("http://station.test/slow", "a duration", "took_ms", "100", finding.LedgerDiffers),
	saying("http://station.test/slow", "a response time", "first_byte_ms", "100", finding.LedgerDiffers),
	saying(bread, "how a URL was found", "kind", `"embed"`, finding.LedgerDiffers),
	saying(bread, "the page that led there", "via", `"http://bakery.test/elsewhere"`, finding.LedgerDiffers),
	saying(bread, "a depth", "depth", "7", finding.LedgerDiffers),
	saying(bread, "a seed", "seed", `"http://far.test/"`, finding.LedgerDiffers),
	saying("http://bakery.test/secret", "the robots directives of a response, as understood", "directives", `"noindex"`, finding.LedgerDiffers),
	{class: inLedger, name: "a host is called the operator's own", found: finding.LedgerDiffers, forge: func(e *evidence) {
		e.edit(e.lineOf(e.of(bread)), `"line":|"group":`, `"own":true,"group":`)
		e.resign()
	}},
	{class: inLedger, name: "a clock that jumped", found: finding.LedgerDiffers, forge: func(e *evidence) {
		e.edit(e.lineOf(e.of(bread)), `,"salt"`, `,"clock_ahead_ms":2000,"salt"`)
		e.resign()
	}},
}

// refusalRows forge what was not asked for.
var refusalRows = []row{
	{class: inLedger, name: "a refusal is removed", found: finding.LedgerMissing, forge: func(e *evidence) {
		e.cut(e.line(`"decision":"disallow"`))
		e.resign()
	}},
	{class: inLedger, name: "a refusal is invented", found: finding.LedgerExtra, forge: func(e *evidence) {
		i := e.line(`"decision":"disallow"`)
		e.book = slices.Insert(e.book, i, e.book[i])
		e.value(i, "url", `"http://museum.test/depot/more"`)
		e.resign()
	}},
	{class: inLedger, name: "the rule of a refusal", found: finding.LedgerExtra, forge: func(e *evidence) {
		e.value(e.line(`"decision":"disallow"`), "rule", `"Disallow: /"`)
		e.resign()
	}},
	{class: inLedger, name: "all refusals are removed", found: finding.LedgerMissing, forge: func(e *evidence) {
		e.book = slices.DeleteFunc(e.book, func(l string) bool {
			return strings.Contains(l, `"decision":"disallow"`) || strings.Contains(l, `"decision":"refuse"`)
		})
		e.resign()
	}},
}
