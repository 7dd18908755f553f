package evidence

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"curtsy/storage"
	"curtsy/storage/audit/finding"
	"curtsy/storage/warc"
)

// The longest that is read of a warcinfo or metadata block, in bytes, and how many fields of a warcinfo are kept.
const (
	maxTold   = 4 << 20
	maxFields = 100
)

// typeFields is the media type of the blocks that this crawler writes itself.
const typeFields = "application/warc-fields"

// metadata reads what a crawl says of an exchange, or of URLs it did not ask for.
func (rd *Reader) metadata(rec *warc.Record, at finding.Place) {
	media := rec.Fields.Get("Content-Type")
	switch {
	case rec.TargetURI() == "" && rd.ours() && strings.HasPrefix(media, typeFields):
		rd.refusals(rec, at)
		return
	case !strings.HasPrefix(media, typeFields) || rec.TargetURI() == "":
		rd.stray(rec, at)
		rd.other(rec, at)
		return
	}
	h := rd.cur.whose(rec, at)
	line, hops, ended, troubles, err := rd.fields(rec)
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
	line.Began, line.Record = h.Began, h.Record
	h.HasMetadata, h.Took, h.Ended, h.Line, h.LineAt, h.Hops = true, line.Took, ended, line, at, hops
	h.sums[2], h.heads[2] = rd.block.digest(), rd.heading(rec)
	h.misses(rec)
	rd.cur.settle()
}

// maxTroubles bounds how many fields of one record are named.
const maxTroubles = 10

// fields reads the fields of an exchange's metadata record, and says whether they tell when it ended. A field that
// cannot be read is as if it were not there, and is named by its trouble.
func (rd *Reader) fields(rec *warc.Record) (line *storage.Line, hops string, ended bool, troubles []string, err error) {
	line = &storage.Line{URL: rec.TargetURI()}
	rd.block.begin(rec, false)
	err = warcFields(&rd.block, func(name, value string) {
		bad := warc.SetField(line, name, value)
		switch {
		case bad != nil && len(troubles) < maxTroubles:
			troubles = append(troubles, bad.Error())
		case bad == nil && name == "fetchTimeMs":
			ended = true
		case bad == nil && name == "hopsFromSeed":
			hops = finding.Short(value)
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
	return line, hops, ended, troubles, err
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
		for l, err := range warc.ParseRefusals(rd.block.in) {
			switch {
			case rd.block.src.err != nil:
				return // torn
			case err != nil:
				rd.bad(at, "", "lines as the ledger reference defines them", err.Error())
			default:
				lines = append(lines, l)
			}
		}
	} else {
		rd.bad(at, "", fmt.Sprintf("at most %d bytes of lines in a record", maxTold), fmt.Sprint(rec.Length))
	}
	rd.block.rest()
	rd.digests(rec, at, "")
	rd.cur.flush(0) // what stands before it in the file
	if len(lines) > 0 {
		rd.cur.queue = append(rd.cur.queue, Event{Info: rd.cur.info, Refusals: lines, At: at})
	}
}

// This file holds what a crawl of ours says of an exchange to the words that docs/reference/ledger.md has, and its
// outcome to what was answered. It is pure.

// The words that the line of an exchange may have. Those of URLs that nobody asked for are not among them.
var (
	decisionWords = spelled("", storage.DecisionAllow, storage.DecisionRobots, storage.DecisionOwner)
	kindWords     = spelled("", storage.KindSeed, storage.KindLink, storage.KindEmbed, storage.KindRedirect,
		storage.KindSitemap, storage.KindMap, storage.KindScript)
	outcomeWords = spelled("", storage.OutcomeFetched, storage.OutcomeRedirected, storage.OutcomeFailed,
		storage.OutcomeGone,
		storage.OutcomeDropped, storage.OutcomeDeferred)
	changeWords = spelled("", storage.ChangeNew, storage.ChangeChanged, storage.ChangeUnchanged, storage.ChangeGone)
	paceWords   = spelled("", storage.ByFloor, storage.ByHostSetting, storage.ByOperator, storage.ByCrawlDelay, storage.ByRequestRate, storage.ByResponseTime,
		storage.ByAddress,
		storage.ByRateLimit, storage.ByRetryAfter, storage.ByErrors, storage.ByRobots)
	restWords = spelled("", storage.ByRetryAfter, storage.ByRateLimit, storage.ByErrors, storage.ByRobots)
)

func spelled[W ~string](words ...W) (all []string) {
	for _, w := range words {
		all = append(all, string(w))
	}
	return all
}

// whyNoPage are the reasons for which an answer that came whole with a status of 200 to 299 is none that could be used.
var whyNoPage = []string{
	storage.ReasonAborted, storage.ReasonCoding, storage.ReasonIncomplete, storage.ReasonLease, storage.ReasonProtocol,
	storage.ReasonReset,
	storage.ReasonSlow, storage.ReasonTimeout, storage.ReasonTooSlow,
}

// Answer is what the archive shows of the exchange.
type Answer struct {
	Status  int
	Whole   bool // it was answered, and nothing cut it
	LeftOut bool // a package has it not
}

// trouble is a word that is none, or does not fit.
type trouble struct {
	Field          string // of the metadata record
	Required, Said string
}

// Troubles returns what is wrong with the words of the line of an exchange.
func Troubles(l *storage.Line, a Answer) (all []trouble) {
	for _, f := range []struct {
		name, word string
		may        []string
	}{
		{"decision", string(l.Decision), decisionWords}, {"kind", string(l.Kind), kindWords},
		{"outcome", string(l.Outcome), outcomeWords},
		{"change", string(l.Change), changeWords}, {"paceBy", string(l.PaceBy), paceWords},
		{"restBy", string(l.RestBy), restWords},
	} {
		if !slices.Contains(f.may, f.word) {
			all = append(all, trouble{f.name, f.name + ", of a request, one of " + strings.Join(f.may[1:], ", "),
				f.word})
		}
	}
	switch {
	case l.Attempt < 0 || l.Depth < 0:
		all = append(all, trouble{"attempt", "attempt and depth, numbers from 0",
			fmt.Sprintf("attempt %d, depth %d", l.Attempt, l.Depth)})
	case (l.Rest != 0) != (l.RestBy != "") || l.Rest < 0:
		all = append(all, trouble{"restMs", "a delay together with its reason",
			fmt.Sprintf("%v by %q", l.Rest, string(l.RestBy))})
	}
	if right := outcome(l, a); right != "" {
		all = append(all, trouble{"outcome", right,
			fmt.Sprintf("outcome %q, change %q", string(l.Outcome), string(l.Change))})
	}
	return all
}

// outcome says what outcome an answer can have, where the line of its exchange has another; else it is empty. A 304 may
// confirm any answer.
func outcome(l *storage.Line, a Answer) string {
	s, is := a.Status, l.Outcome
	if is != "" && (l.Decision == storage.DecisionRobots || l.Decision == storage.DecisionOwner) {
		return "no outcome for a request that is not a task"
	}
	if is == "" || a.LeftOut || s == 304 {
		return ""
	}
	page, gone, redirect := s >= 200 && s < 300, s == 404 || s == 410, s >= 300 && s < 400
	whole := a.Whole && l.Reason != storage.ReasonAborted
	switch {
	case is == storage.OutcomeFetched && !page:
		return fmt.Sprintf("an outcome for status %d: fetched is for 200 to 299", s)
	case is == storage.OutcomeRedirected && !redirect:
		return fmt.Sprintf("an outcome for status %d: redirected is for 300 to 399", s)
	case is == storage.OutcomeGone && !gone:
		return fmt.Sprintf("an outcome for status %d: gone is for 404 and 410", s)
	case is == storage.OutcomeDropped && whole && !page && !redirect:
		return fmt.Sprintf("an outcome for status %d: a dropped URL would have been usable", s)
	case is == storage.OutcomeFailed || is == storage.OutcomeDeferred:
		if whole && gone && !slices.Contains(whyNoPage, l.Reason) {
			return fmt.Sprintf("the outcome gone, for status %d", s)
		}
		if whole && page && !slices.Contains(whyNoPage, l.Reason) {
			return fmt.Sprintf("the outcome fetched, or why a whole answer with status %d was of no use", s)
		}
	}
	switch change := l.Change; {
	case change == storage.ChangeGone && is != storage.OutcomeGone:
		return "the change gone only with the outcome gone"
	case change != "" && change != storage.ChangeGone && is != storage.OutcomeFetched &&
		is != storage.OutcomeRedirected:
		return "a change of the response"
	}
	return ""
}

// Plain writes a text as both the ledger and the archive can: within a line, in UTF-8 (docs/reference/ledger.md, docs/reference/archives.md).
func Plain(s string) string {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f {
			return foreignText(s)
		}
	}
	return strings.Trim(s, " ")
}

func foreignText(s string) string {
	const unknown = "\ufffd"
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, unknown))
	for strings.Contains(s, unknown+unknown) { // the archive has one for a row of octets that are none, the ledger one for each
		s = strings.ReplaceAll(s, unknown+unknown, unknown)
	}
	return strings.TrimSpace(s)
}

// quote is what a verdict quotes of a robots.txt.
type quote struct{ Rule, Group, RunnerUp string }

func (q quote) String() string {
	return fmt.Sprintf("%q of group %q before %q", q.Rule, q.Group, q.RunnerUp)
}
