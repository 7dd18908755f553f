package forgery

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

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
}

var segmentRows = []row{
	{class: inLedger, name: "a packed segment with other lines is put beside the plain one", found: finding.LedgerLines, forge: func(e *evidence) {
		e.beside["000000.jsonl.zst"] = zstdOf(e, strings.Replace(strings.Join(e.book, ""), `"status":200`, `"status":203`, 1))
	}},
	{class: inLedger, name: "a packed segment that cannot be read is put beside the plain one", found: finding.LedgerLines, forge: func(e *evidence) {
		e.beside["000000.jsonl.zst"] = "hidden"
	}},
}

func zstdOf(e *evidence, text string) string {
	z, err := zstd.NewWriter(nil)
	if err != nil {
		e.t.Fatal(err)
	}
	return string(z.EncodeAll([]byte(text), nil))
}
