package evidence

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/finding"
	"curtsy/storage/warc"
)

// The longest that is read of a warcinfo or metadata block, in bytes, and how many fields of a warcinfo are kept.
const (
	maxTold   = 4 << 20
	maxFields = 100
)

// The media types of blocks.
const (
	typeFields = "application/warc-fields"
	typeLines  = "application/x-ndjson" // of refusals, in archives of before they were fields
)

// refusalField begins each refusal in a batch (docs/reference/archives.md).
const refusalField = "refusal: "

// metadata reads what a crawl says of an exchange, or of URLs it did not ask for.
func (rd *Reader) metadata(rec *warc.Record, at finding.Place) {
	media := rec.Fields.Get("Content-Type")
	switch {
	case rec.TargetURI() == "" && (strings.HasPrefix(media, typeLines) ||
		rd.ours() && strings.HasPrefix(media, typeFields)):
		rd.refusals(rec, at)
		return
	case !strings.HasPrefix(media, typeFields) || rec.TargetURI() == "":
		rd.stray(rec, at)
		rd.other(rec, at)
		return
	}
	h := rd.cur.whose(rec, at)
	line, ended, troubles, err := rd.fields(rec)
	rd.block.rest()
	rd.digests(rec, at, line.URL)
	switch {
	case rd.block.src.err != nil:
		return // torn
	case err != nil:
		rd.bad(at, line.URL, "fields of a metadata record", err.Error())
	case len(troubles) > 0 && rd.ours(): // who else uses these names may mean something else by them
		rd.bad(at, line.URL, "fields as the archive reference has them", strings.Join(troubles, "; "))
	case h == nil && rd.ours():
		rd.bad(at, line.URL, "a request that the metadata record belongs to",
			"it names "+finding.Short(strings.Join(concurrent(rec), ", ")))
	}
	if h == nil {
		return
	}
	line.Began, line.Record = h.Exchange.Began, h.Exchange.Record
	h.HasMetadata, h.Exchange.Took, h.Exchange.Ended, h.Exchange.Line, h.Exchange.LineAt = true, line.Took, ended, line,
		at
	h.sums[2], h.heads[2] = rd.block.digest(), rd.heading(rec)
	h.misses(rec)
	rd.cur.settle()
}

// maxTroubles bounds how many fields of one record are named.
const maxTroubles = 10

// fields reads the fields of an exchange's metadata record, and says whether they tell when it ended. A field that
// cannot be read is as if it were not there, and is named by its trouble.
func (rd *Reader) fields(rec *warc.Record) (line *storage.Line, ended bool, troubles []string, err error) {
	line = &storage.Line{URL: rec.TargetURI()}
	rd.block.begin(rec, false)
	err = warcFields(&rd.block, func(name, value string) {
		bad := warc.SetField(line, name, value)
		switch {
		case bad != nil && len(troubles) < maxTroubles:
			troubles = append(troubles, bad.Error())
		case bad == nil && name == "fetchTimeMs":
			ended = true
		}
	})
	for _, f := range []struct {
		name string
		d    *time.Duration
	}{{"fetchTimeMs", &line.Took}, {"firstByteTimeMs", &line.FirstByte}, {"paceMs", &line.Pace}, {"gapMs", &line.Gap}} {
		if *f.d < 0 {
			*f.d, ended = 0, ended && f.name != "fetchTimeMs"
			troubles = append(troubles, f.name+" is less than nothing")
		}
	}
	line.RobotsRecord = strings.Trim(line.RobotsRecord, "<>")
	return line, ended, troubles, err
}

// whose returns the exchange that a metadata record belongs to.
func (s *stream) whose(rec *warc.Record, at finding.Place) *partial {
	to := concurrent(rec)
	if id := strings.Trim(rec.Fields.Get("WARC-Refers-To"), "<>"); id != "" {
		to = append(to, finding.Short(id))
	}
	for i := len(s.window) - 1; i >= 0; i-- {
		if w := s.window[i]; !w.HasMetadata && w.Alone == "" &&
			w.named([]string{at.Record}, to, rec.TargetURI(), rec.Fields.Get("WARC-Date")) {
			return w
		}
	}
	return nil
}

// warcFields reads fields of application/warc-fields and gives each to f.
func warcFields(r *blockReader, f func(name, value string)) error {
	r.left = maxTold
	for {
		b, err := r.in.ReadSlice('\n')
		if r.left -= len(b); r.left < 0 {
			return fmt.Errorf("more than %d bytes", maxTold)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			for r.long = append(r.long[:0], b...); errors.Is(err, bufio.ErrBufferFull); r.long = append(r.long, b...) {
				b, err = r.in.ReadSlice('\n')
				if r.left -= len(b); r.left < 0 {
					return fmt.Errorf("more than %d bytes", maxTold)
				}
			}
			b = r.long
		}
		if name, value, ok := bytes.Cut(bytes.TrimRight(b, "\r\n"), []byte(":")); ok && string(name) != "outlink" {
			f(string(name), string(bytes.TrimSpace(value)))
		}
		if err != nil { // the end; another error is in r.src
			return nil
		}
	}
}

// refusals reads a batch of lines of decisions without an exchange.
func (rd *Reader) refusals(rec *warc.Record, at finding.Place) {
	rd.block.begin(rec, false)
	var lines []storage.Line
	if rec.Length <= maxTold {
		b, err := io.ReadAll(rd.block.in)
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
				rd.bad(at, "", "lines as the ledger reference defines them", err.Error())
				continue
			}
			lines = append(lines, l)
		}
	} else {
		rd.bad(at, "", fmt.Sprintf("at most %d bytes of lines in a record", maxTold), fmt.Sprint(rec.Length))
		rd.block.rest()
	}
	rd.digests(rec, at, "")
	rd.cur.flush(0) // what stands before it in the file
	if len(lines) > 0 {
		rd.cur.queue = append(rd.cur.queue, Event{Info: rd.cur.info, Refusals: lines, At: at})
	}
}
