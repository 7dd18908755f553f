package forgery

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"curtsy/storage/audit/finding"
)

// ruleRows break rules that the crawl's own records state, with the operator's key.
var ruleRows = slices.Concat(robotsRecordRows, optOutRows, segmentRows)

const noRecord = "urn:uuid:00000000-0000-4000-8000-000000000000"

var robotsRecordRows = []row{
	{class: inBoth, name: "robots.txt is said to be in a record that is not there", found: finding.Verdict, forge: func(e *evidence) {
		e.robotsRecord(noRecord, bread)
	}},
	{class: inBoth, name: "robots.txt is said to be in a record of another host", found: finding.Verdict, forge: func(e *evidence) {
		e.robotsRecord(e.of("http://library.test/robots.txt").id(), bread)
	}},
	{class: inBoth, name: "robots.txt is said to be in a record of another host, for all pages of a host", found: finding.Verdict, forge: func(e *evidence) {
		id := e.of("http://library.test/robots.txt").id()
		var urls []string
		for _, x := range e.exchanges("") {
			if strings.HasPrefix(x.url(), "http://bakery.test/") && strings.Contains(x.told.block, "robotsRecord: ") {
				urls = append(urls, x.url())
			}
		}
		e.robotsRecord(id, slices.Compact(urls)...)
	}},
}

// robotsRecord makes line and metadata of pages name another record of robots.txt.
func (e *evidence) robotsRecord(id string, urls ...string) {
	var all []exchange
	for _, url := range urls {
		x := e.of(url)
		x.told.field(e.t, "robotsRecord", id)
		e.value(e.lineOf(x), "robots_record", `"`+id+`"`)
		all = append(all, x)
	}
	e.bind(all...)
}

var optOutRows = []row{
	{class: inBoth, name: "the opt-out list in force has a host that was requested", found: finding.OptOuts, forge: func(e *evidence) {
		const list = "bakery.test\n"
		e.files["optout.txt"] = list
		i := e.line(`"mark":"run"`)
		e.book[i] = strings.TrimSuffix(e.book[i], "}\n") + fmt.Sprintf(`,"optouts_sha256":"%x"}`+"\n", sha256.Sum256([]byte(list)))
		e.resign()
	}},
	{class: inBoth, name: "a line records that an opt-out list refuses a host, which is requested later", found: finding.OptOuts, forge: func(e *evidence) {
		const list = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0"
		i := e.line(`"mark":"run"`)
		e.book[i] = strings.TrimSuffix(e.book[i], "}\n") + `,"optouts_sha256":"` + list + "\"}\n"
		x := e.of("http://bakery.test/")
		i = e.lineOf(x) + 1
		e.book = slices.Insert(e.book, i, fmt.Sprintf(`{"time":%q,"url":"http://bakery.test/attic","decision":"opt-out","reason":"opt-out","rule":"bakery.test","line":1,"list_sha256":%q,"salt":"0123456789abcdef0123456789abcdef"}`+"\n",
			x.began(e.t).Add(time.Millisecond).Format(stamp), list))
		e.resign()
	}},
}

var segmentRows = []row{
	{class: inLedger, name: "a packed segment with other lines is added to the plain one", found: finding.LedgerLines, forge: func(e *evidence) {
		e.beside["000000.jsonl.zst"] = zstdOf(e, strings.Replace(strings.Join(e.book, ""), `"status":200`, `"status":203`, 1))
	}},
	{class: inLedger, name: "a packed segment that cannot be read is added to the plain one", found: finding.LedgerLines, forge: func(e *evidence) {
		e.beside["000000.jsonl.zst"] = "hidden"
	}},
	{class: inLedger, name: "an empty segment is added after the last", found: finding.LedgerLines, forge: func(e *evidence) { e.beside["000001.jsonl"] = "" }},
	{class: inLedger, name: "an empty segment is added after the last one of a killed crawl",
		why: "a kill leaves one between two steps: a note names it", forge: func(e *evidence) {
			e.killed()
			e.beside["000001.jsonl"] = ""
		}},
	{class: inLedger, name: "a packed segment without a line is added after the last", found: finding.LedgerLines, forge: func(e *evidence) {
		e.beside["000001.jsonl.zst"] = zstdOf(e, "")
	}},
	{class: inLedger, name: "a tile of a larger tree is put among the tiles", found: finding.LedgerTiles, forge: func(e *evidence) {
		e.beside["tile/0/007"] = strings.Repeat("h", 256*32)
	}},
	{class: inLedger, name: "a file that is not a tile is among the tiles", found: finding.LedgerTiles, forge: func(e *evidence) {
		e.beside["tile/0/notes"] = "hidden"
	}},
	{class: inLedger, name: "a tile of an earlier size is put among the tiles",
		why: "it is left where a copy is made while the crawl runs; no reader takes it for one of the tree", forge: func(e *evidence) {
			was := maps.Clone(e.beside)
			e.resign()
			maps.Copy(e.beside, was) // the pen leaves the tiles out
			e.beside["tile/0/000.p/1"] = strings.Repeat("h", 32)
		}},
}

func zstdOf(e *evidence, text string) string {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		e.t.Fatal(err)
	}
	return string(z.EncodeAll([]byte(text), nil))
}
