package audit

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/warc"
)

// The longest that is read of a warcinfo or metadata block, in octets, and how many fields of a warcinfo are kept.
const (
	maxTold   = 4 << 20
	maxFields = 100
)

// The media types of blocks.
const (
	typeFields = "application/warc-fields"
	typeLines  = "application/x-ndjson" // of refusals, in archives of before they were fields
)

// refusalField begins each refusal in a batch (docs/warc.md).
const refusalField = "refusal: "

// metadata reads what a crawl says of an exchange, or of URLs it did not ask for.
func (a *audit) metadata(rec *warc.Record, at Place) {
	media := rec.Fields.Get("Content-Type")
	switch {
	case rec.TargetURI() == "" && (strings.HasPrefix(media, typeLines) || a.ours() && strings.HasPrefix(media, typeFields)):
		a.refusals(rec, at)
		return
	case !strings.HasPrefix(media, typeFields) || rec.TargetURI() == "":
		a.other(rec, at)
		return
	}
	h := a.whose(rec)
	line := storage.Line{URL: rec.TargetURI()}
	took, ended := time.Duration(0), false
	a.read.begin(rec, false)
	err := told(&a.read, func(name, value string) {
		if name == "fetchTimeMs" {
			took, ended = millis(value)
			return
		}
		take(&line, name, value)
	})
	a.read.rest()
	a.digests(rec, at, line.URL)
	switch {
	case a.read.src.err != nil:
		return // torn
	case err != nil:
		a.bad(at, line.URL, "fields of a metadata record", err.Error())
	case h == nil && a.ours():
		a.bad(at, line.URL, "an exchange that the metadata record belongs to", "it names "+short(strings.Join(concurrent(rec), ", ")))
	}
	if h == nil {
		return
	}
	line.Began, line.Took, line.Record = h.e.Began, took, h.e.Record
	h.told, h.e.Took, h.e.Ended, h.e.Line, h.e.LineAt = true, took, ended, &line, at
	a.settle()
}

// whose returns the exchange that a metadata record belongs to.
func (a *audit) whose(rec *warc.Record) *half {
	to := concurrent(rec)
	if id := strings.Trim(rec.Fields.Get("WARC-Refers-To"), "<>"); id != "" {
		to = append(to, short(id))
	}
	for i := len(a.cur.window) - 1; i >= 0; i-- {
		if w := a.cur.window[i]; !w.told && w.named(nil, to, rec.TargetURI(), rec.Fields.Get("WARC-Date")) {
			return w
		}
	}
	return nil
}

// told reads fields of application/warc-fields and gives each to f.
func told(r *reader, f func(name, value string)) error {
	r.left = maxTold
	for {
		b, err := r.in.ReadSlice('\n')
		if r.left -= len(b); r.left < 0 {
			return fmt.Errorf("more than %d octets", maxTold)
		}
		for errors.Is(err, bufio.ErrBufferFull) { // no field that is read here is so long: b is then no field
			b, err = r.in.ReadSlice('\n')
			if r.left -= len(b); r.left < 0 {
				return fmt.Errorf("more than %d octets", maxTold)
			}
			b = nil
		}
		if name, value, ok := bytes.Cut(bytes.TrimRight(b, "\r\n"), []byte(":")); ok && string(name) != "outlink" {
			f(string(name), string(bytes.TrimSpace(value)))
		}
		if err != nil { // the end; another error is in r.src
			return nil
		}
	}
}

// take puts a field of a metadata record into l.
func take(l *storage.Line, name, value string) {
	if t := text(l, name); t != nil {
		*t = value
		return
	}
	switch name {
	case "depth":
		l.Depth, _ = strconv.Atoi(value)
	case "status":
		l.Status, _ = strconv.Atoi(value)
	case "attempt":
		l.Attempt, _ = strconv.Atoi(value)
	case "robotsLine":
		l.RobotsLine, _ = strconv.Atoi(value)
	case "ownHost":
		l.Own = value == "true"
	case "robotsRecord":
		l.RobotsRecord = strings.Trim(value, "<>")
	case "paceMs":
		l.Pace, _ = millis(value)
	case "gapMs":
		l.Gap, _ = millis(value)
	case "firstByteTimeMs":
		l.FirstByte, _ = millis(value)
	case "asked":
		l.Asked = joined(l.Asked, value)
	case "prefs":
		l.Prefs = joined(l.Prefs, value)
	}
}

// text returns the part of l that a field's value is taken for as it is; nil for a field of another kind.
func text(l *storage.Line, name string) *string {
	switch name {
	case "via":
		return &l.Via
	case "kind":
		return &l.Kind
	case "seed":
		return &l.Seed
	case "sourceTag":
		return &l.Tag
	case "decision":
		return &l.Decision
	case "reason":
		return &l.Reason
	case "outcome":
		return &l.Outcome
	case "robotsRule":
		return &l.RobotsRule
	case "robotsGroup":
		return &l.RobotsGroup
	case "robotsRunnerUp":
		return &l.RunnerUp
	case "robotsSha256":
		return &l.RobotsSHA256
	case "robotsStandard":
		return &l.Standard
	case "paceBy":
		return &l.PaceBy
	case "listSha256":
		return &l.List
	case "truncated":
		return &l.Truncated
	case "directives":
		return &l.Directives
	}
	return nil
}

func joined(a, b string) string {
	if a == "" {
		return b
	}
	if len(a) > 64<<10 {
		return a
	}
	return a + "\n" + b
}

// millis reads milliseconds with up to three decimals. More than ten years are none.
func millis(s string) (time.Duration, bool) {
	whole, frac, _ := strings.Cut(s, ".")
	n, err := strconv.ParseUint(whole, 10, 63)
	if err != nil || n > 10*365*24*3600*1000 {
		return 0, false
	}
	d := time.Duration(n) * time.Millisecond
	place := time.Millisecond
	for i := 0; i < len(frac) && i < 3; i++ {
		if frac[i] < '0' || frac[i] > '9' {
			return 0, false
		}
		place /= 10
		d += time.Duration(frac[i]-'0') * place
	}
	return d, true
}

// refusals reads a batch of lines of decisions without an exchange.
func (a *audit) refusals(rec *warc.Record, at Place) {
	a.read.begin(rec, false)
	var lines []storage.Line
	if rec.Length <= maxTold {
		b, err := io.ReadAll(a.read.in)
		if err != nil {
			return // torn
		}
		for part := range bytes.Lines(b) {
			part, _ = bytes.CutPrefix(bytes.TrimSpace(part), []byte(refusalField))
			if len(part) == 0 {
				continue
			}
			l, err := storage.ParseLine(part)
			if err != nil {
				a.bad(at, "", "lines as docs/ledger.md says", err.Error())
				continue
			}
			lines = append(lines, l)
		}
	} else {
		a.bad(at, "", fmt.Sprintf("at most %d octets of lines in a record", maxTold), fmt.Sprint(rec.Length))
		a.read.rest()
	}
	a.digests(rec, at, "")
	a.flush(0) // what stands before it in the file
	if len(lines) > 0 {
		a.cur.queue = append(a.cur.queue, event{info: a.info, lines: lines, at: at})
	}
}
