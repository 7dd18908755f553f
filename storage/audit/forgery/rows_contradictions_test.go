package forgery

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"curtsy/storage/audit/finding"
)

// contradictionRows forge archive and ledger alike, with the operator's key, and contradict what else is signed.
var contradictionRows = slices.Concat(warcinfoRows, sentRows, framingRows, factRows, stopRows, formRows)

// declaringBoth makes a row that replaces something in the warcinfo record, and makes the mark of the run fit.
func declaringBoth(name string, found finding.Code, old, with string) row {
	return row{class: inBoth, name: name, found: found, forge: func(e *evidence) {
		e.kind("warcinfo")[0].replace(e.t, old, with)
		e.bindInfo()
	}}
}

// bindInfo makes the mark of the run fit the warcinfo record.
func (e *evidence) bindInfo() {
	e.value(e.line(`"mark":"run"`), "warcinfo_sha256", fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(e.kind("warcinfo")[0].block))))
	e.resign()
}

var warcinfoRows = []row{
	declaringBoth("the archive declares other settings than the mark of the run", finding.LedgerDiffers, "config-sha256: ", "config-sha256: ab"),
	declaringBoth("the archive declares no settings, and the mark of the run does", finding.LedgerDiffers, "config-sha256: ", "x-was: "),
	declaringBoth("the archive declares an opt-out list, and the mark of the run none", finding.LedgerDiffers, "own-sites: none\r\n",
		"own-sites: none\r\nopt-out-sha256: "+strings.Repeat("ab", 32)+"\r\n"),
	declaringBoth("the archive declares another key than the mark of the run", finding.LedgerDiffers, "own-sites: none\r\n",
		"own-sites: none\r\nledger-key: "+otherKey.VerifierKey()+"\r\n"),
	declaringBoth("a shorter longest Crawl-delay than one that was kept is declared", finding.BadRecord, "max-crawl-delay-ms: 300000", "max-crawl-delay-ms: 2000"),
}

// sending makes a row of a request that this crawler never sends.
func sending(name, old, with string) row {
	return agreeing(bread, "a request "+name, finding.BadRecord, "", func(t *testing.T, x exchange, _ func(string, string)) { x.ask.replace(t, old, with) })
}

var sentRows = []row{
	agreeing(bread, "a request with a body", finding.BadRecord, "", func(t *testing.T, x exchange, _ func(string, string)) {
		x.ask.replace(t, "Accept:", "Content-Length: 4\r\nAccept:")
		x.ask.block += "id=7"
	}),
	agreeing(bread, "a request with a body that is announced by nothing", finding.BadRecord, "", func(t *testing.T, x exchange, _ func(string, string)) {
		x.ask.block += "id=7"
	}),
	sending("by HEAD whose answer has a body", "GET ", "HEAD "),
	sending("for a range", "Accept:", "Range: bytes=0-9\r\nAccept:"),
	sending("with Referer", "Accept:", "Referer: http://far.test/\r\nAccept:"),
	sending("with X-Api-Key", "Accept:", "X-Api-Key: sesame\r\nAccept:"),
	sending("with Cookie2", "Accept:", "Cookie2: id=7\r\nAccept:"),
	sending("with X-HTTP-Method-Override", "Accept:", "X-HTTP-Method-Override: DELETE\r\nAccept:"),
	sending("with Upgrade", "Accept:", "Upgrade: websocket\r\nAccept:"),
	sending("with Expect", "Accept:", "Expect: 100-continue\r\nAccept:"),
	sending("with a field twice", "Accept:", "Accept: text/plain\r\nAccept:"),
	sending("with a folded field", "Accept: ", "Accept:\r\n "),
	sending("with a field without a colon", "Accept:", "Mood\r\nAccept:"),
	sending("with a line that ends in LF", "\r\nAccept:", "\nAccept:"),
	sending("in HTTP/1.0", " HTTP/1.1", " HTTP/1.0"),
	sending("in HTTP/2", " HTTP/1.1", " HTTP/2"),
}

// framed makes a row of an answer whose body does not end where its head says.
func framed(url, name string, forge func(x exchange)) row {
	return agreeing(url, "an answer "+name, finding.BadRecord, "", func(_ *testing.T, x exchange, _ func(string, string)) { forge(x) })
}

var lengthField = regexp.MustCompile(`Content-Length: [0-9]+`)

// length replaces the Content-Length of an answer.
func (x exchange) length(t *testing.T, with string) {
	t.Helper()
	if !lengthField.MatchString(x.answer.block) {
		t.Fatalf("no Content-Length in %q", x.answer.block)
	}
	x.answer.block = lengthField.ReplaceAllString(x.answer.block, with)
}

const pier = "http://harbour.test/pier"

var framingRows = []row{
	agreeing(plums, "an answer shorter than its Content-Length", finding.BadRecord, "", func(t *testing.T, x exchange, _ func(string, string)) { x.length(t, "Content-Length: 4000") }),
	agreeing(plums, "an answer longer than its Content-Length", finding.BadRecord, "", func(t *testing.T, x exchange, _ func(string, string)) { x.length(t, "Content-Length: 4") }),
	agreeing(plums, "an answer that is said to be in chunks", finding.BadRecord, "", func(t *testing.T, x exchange, _ func(string, string)) { x.length(t, "Transfer-Encoding: chunked") }),
	framed(plums, "with another after it", func(x exchange) { x.answer.block += "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" }),
	framed(pier, "whose chunks end early", func(x exchange) { x.answer.block = strings.TrimSuffix(x.answer.block, "0\r\n\r\n") }),
	framed(pier, "whose chunks have no last line", func(x exchange) { x.answer.block = strings.TrimSuffix(x.answer.block, "\r\n") }),
	framed(pier, "with another after its chunks", func(x exchange) { x.answer.block += "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" }),
}

var factRows = []row{
	{class: inBoth, name: "the robots directives of a response are left out", found: finding.BadRecord, forge: func(e *evidence) {
		x := e.of(secret)
		x.told.field(e.t, "directives", "")
		e.edit(e.lineOf(x), `"directives":"noarchive",`, "")
		e.bind(x)
	}},
	{class: inBoth, name: "a date of the last change that the answer does not have", found: finding.BadRecord, forge: func(e *evidence) {
		x := e.of(bread)
		x.told.field(e.t, "lastModified", "1999-12-01T00:00:00.000000Z")
		e.edit(e.lineOf(x), `,"salt"`, `,"modified":"1999-12-01T00:00:00.000000Z","salt"`)
		e.bind(x)
	}},
	{class: inBoth, name: "the date of the last change that an answer has is left out", found: finding.BadRecord, forge: func(e *evidence) {
		x := e.of(bread)
		x.answer.replace(e.t, "Content-Length:", "Last-Modified: Wed, 01 Dec 1999 00:00:00 GMT\r\nContent-Length:")
		e.bind(x)
	}},
	{class: inBoth, name: "more interim answers than are waited for", found: finding.BadRecord, forge: func(e *evidence) {
		x := e.of(bread)
		x.told.field(e.t, "interimAnswers", "18")
		e.edit(e.lineOf(x), `,"status":`, `,"interim":18,"status":`)
		e.bind(x)
	}},
	{class: inBoth, name: "a page changed since the generation before, in the first run", found: finding.LedgerLines, forge: func(e *evidence) {
		x := e.of(bread)
		x.told.field(e.t, "change", "unchanged")
		e.edit(e.lineOf(x), `,"salt"`, `,"change":"unchanged","salt"`)
		e.bind(x)
	}},
}

// both replaces something in the first line of a refusal that has it, and in its line of the ledger.
func (e *evidence) both(has, old, with string) {
	e.t.Helper()
	i := e.line(has)
	was := strings.TrimSuffix(e.book[i], "\n")
	e.edit(i, regexp.QuoteMeta(old), with)
	public := func(line string) string {
		before, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), `,"salt":`)
		return before
	}
	for _, r := range e.kind("metadata") {
		r.block = strings.Replace(r.block, public(was), public(e.book[i]), 1)
	}
	e.resign()
}

var stopRows = []row{
	{class: inBoth, name: "a refusal is dated after the stop of its run", found: finding.LedgerLines, forge: func(e *evidence) {
		e.both(`"decision":"disallow"`, `"time":"2000-01-01T00:0`, `"time":"2000-01-01T00:4`)
	}},
	{class: inBoth, name: "a URL that robots.txt forbids is recorded as rejected by a limit", found: finding.BadRecord, forge: func(e *evidence) {
		e.both(`"decision":"disallow"`, `"decision":"disallow"`, `"decision":"refuse"`)
	}},
	{class: inLedger, name: "a second stop of a run, and everything is signed again", found: finding.LedgerLines, forge: func(e *evidence) {
		i := e.line(`"mark":"stop"`)
		e.book = slices.Insert(e.book, i+1, e.book[i])
		e.resign()
	}},
}

// writing makes a row of a line that readers of JSON may read in several ways.
func writing(name, old, with string) row {
	return row{class: inLedger, name: "a line " + name + ", and everything is signed again", found: finding.LedgerLines, forge: func(e *evidence) {
		e.edit(e.lineOf(e.of(bread)), old, with)
		e.resign()
	}}
}

var formRows = []row{
	writing("with its status twice", `"status":200`, `"status":404,"status":200`),
	writing("with its URL twice", `"url":"`, `"url":"http://far.test/","url":"`),
	writing("with an unknown name twice", `,"salt"`, `,"mood":1,"mood":2,"salt"`),
	writing("with a name of other letters", `,"salt"`, `,"Mood":"good","salt"`),
	writing("with white space", `,"url":`, `, "url":`),
	writing("whose time has an offset", `^(\{"time":"[^"]*)Z"`, `$1+00:00"`),
	{class: inLedger, name: "a mark with a name twice, and everything is signed again", found: finding.LedgerLines, forge: func(e *evidence) {
		e.edit(e.line(`"mark":"stop"`), `"lines":`, `"lines":0,"lines":`)
		e.resign()
	}},
	{class: inLedger, name: "a mark whose time has an offset, and everything is signed again", found: finding.LedgerLines, forge: func(e *evidence) {
		e.edit(e.line(`"mark":"stop"`), `(\.[0-9]{6})Z"`, `$1+00:00"`)
		e.resign()
	}},
}
