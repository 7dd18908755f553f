package mirror

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"curtsy/frontier/canon"
	"curtsy/frontier/durable"
	"curtsy/storage"
	"curtsy/storage/mirror/layout"
	"curtsy/storage/sorted"
)

// Missing is a URL that files of the mirror name and that has no file. References to it are absolute.
type Missing struct {
	URL     string   `json:"url"` // canonical
	Reason  Reason   `json:"reason"`
	Detail  string   `json:"detail,omitempty"`  // in the crawl's words
	Links   int64    `json:"links,omitempty"`   // files that link to it
	Embeds  int64    `json:"embeds,omitempty"`  // files that need it to be complete
	Scripts int64    `json:"scripts,omitempty"` // files with scripts or JSON that name it
	In      []string `json:"in"`                // the first maxIn of these files
}

const maxIn = 3

// absent collects the URLs that documents name and the mirror lacks.
type absent struct {
	lines *sorted.Sorter // "KEY\tL|E|S\tFILE", and the ledger's reason for KEY, see why.String
	named atomic.Bool    // documents name something
	hosts map[string]why // of hosts whose refusals the ledger only counts
	shut  map[string]why // of hosts, the last outcome of robots.txt; without a reason if it was fetched

	unfetched func(canon.URL, bool) (string, error) // Options.Unfetched
}

type why struct {
	reason Reason
	detail string
	rank   int8
	at     int64 // microseconds
}

func (w why) after(was why) bool {
	return cmp.Or(cmp.Compare(w.rank, was.rank), cmp.Compare(w.at, was.at), strings.Compare(w.detail, was.detail)) > 0
}

// How a file names a missing URL.
const (
	byLink   = "L"
	byEmbed  = "E" // and needs it to be complete
	byScript = "S"
)

func (a *absent) add(u canon.URL, by, file string) error {
	a.named.Store(true)
	return a.lines.Add([]byte(u.Key() + "\t" + by + "\t" + file))
}

// ofLedger begins a reason of the ledger, which sorts before the files that name the URL.
const ofLedger = "!"

// String formats w for the sorter.
func (w why) String() string {
	return fmt.Sprintf("%s%d\t%d\t%s\t%s", ofLedger, w.rank, w.at, w.reason, w.detail)
}

func parseWhy(line string) (w why) {
	f := strings.SplitN(strings.TrimPrefix(line, ofLedger), "\t", 4)
	rank, _ := strconv.ParseInt(f[0], 10, 8)
	w.at, _ = strconv.ParseInt(f[1], 10, 64)
	w.rank, w.reason, w.detail = int8(rank), Reason(f[2]), f[3]
	return w
}

// write writes the list, with the reasons of the plan or else of the ledger, whose lines it sorts in.
func (a *absent) write(w io.Writer, p *plan, lines iter.Seq2[storage.Line, error], s *Summary) (err error) {
	defer func() { err = errors.Join(err, a.lines.Close()) }()
	if a.named.Load() {
		if err := a.addReasons(lines); err != nil {
			return err
		}
	}
	b := bufio.NewWriterSize(w, 64<<10)
	last, m, found := "", Missing{}, why{}
	end := func() error {
		if len(m.In) == 0 {
			return nil // only the ledger names it
		}
		if err := a.explain(&m, p, found, s); err != nil {
			return err
		}
		text, err := marshal(m)
		if err != nil {
			return err
		}
		_, err = b.WriteString(text + "\n")
		return err
	}
	for sortedLine, err := range a.lines.All() {
		line := string(sortedLine)
		switch {
		case err != nil:
			return err
		case line == last:
			continue
		}
		last = line
		key, rest, _ := strings.Cut(line, "\t")
		if key != m.URL {
			if err := end(); err != nil {
				return err
			}
			m, found = Missing{URL: key}, why{reason: NotFetched}
		}
		if strings.HasPrefix(rest, ofLedger) {
			if decision := parseWhy(rest); decision.after(found) {
				found = decision
			}
			continue
		}
		by, file, _ := strings.Cut(rest, "\t")
		switch by {
		case byEmbed:
			m.Embeds++
		case byLink:
			m.Links++
		default:
			m.Scripts++
		}
		if len(m.In) < maxIn && !slices.Contains(m.In, file) {
			m.In = append(m.In, file)
		}
	}
	return errors.Join(end(), b.Flush())
}

func (a *absent) explain(m *Missing, p *plan, found why, s *Summary) (err error) {
	if m.Reason, m.Detail, err = a.reason(p, m.URL, found, m.Embeds > 0); err != nil {
		return err
	}
	switch {
	case m.Links+m.Embeds == 0:
		s.Scripted[m.Reason]++
		m.Detail = strings.TrimSuffix(string(m.Reason)+": "+m.Detail, ": ")
		m.Reason = ByScript
	case m.Embeds > 0:
		s.MissingEmbeds[m.Reason]++
		fallthrough
	default:
		s.Missing[m.Reason]++
	}
	return nil
}

func (a *absent) reason(p *plan, key string, found why, embed bool) (Reason, string, error) {
	if e, ok := p.find(key); ok {
		reason, detail := p.reasonOf(e)
		if reason == Truncated && (found.reason == Scope || found.reason == TooLarge) { // the crawl cut it
			reason, detail = found.reason, found.detail
		}
		return reason, detail, nil
	}
	if found.reason != NotFetched || found.detail != "" {
		return found.reason, found.detail, nil
	}
	u, err := canon.Parse(key)
	if err != nil {
		return NotFetched, "", nil //nolint:nilerr // not a URL, so without a host
	}
	host := u.Authority().String()
	if w, ok := a.hosts[host]; ok {
		return w.reason, w.detail, nil
	}
	if w := a.shut[host]; w.reason != "" {
		return w.reason, w.detail, nil
	}
	if a.unfetched == nil {
		return NotFetched, "", nil
	}
	detail, err := a.unfetched(u, embed)
	if budget, ok := strings.CutPrefix(detail, storage.RuleOfBudget); ok {
		return Budget, budget, err
	}
	if strings.HasPrefix(detail, storage.RuleOfScope) {
		return Scope, detail, err
	}
	return NotFetched, detail, err
}

// RecordUnreadable is the detail of Damaged if the archive is: the file should exist.
const RecordUnreadable = "its record in the archive cannot be read"

func (p *plan) reasonOf(e *entry) (Reason, string) {
	reason, detail := stateReasons[e.state], ""
	switch e.state {
	case isDamaged:
		if e.flags&unreadable != 0 {
			detail = RecordUnreadable
		}
	case isFailed, isGone:
		detail = fmt.Sprintf("status %d", e.status)
	case isRedirect:
		end, found := e, true
		seen := map[*entry]bool{}
		for found && end.state == isRedirect {
			if seen[end] {
				return reason, "redirect loop"
			}
			if seen[end] = true; len(seen) > maxHops {
				return reason, fmt.Sprintf("more than %d redirects in a row", maxHops)
			}
			key, _ := targetOf(end)
			detail = "to " + key
			end, found = p.find(key)
		}
		if found {
			why, more := p.reasonOf(end)
			detail += ": " + strings.TrimSuffix(string(why)+": "+more, ": ")
		}
	}
	return reason, detail
}

// addReasons adds the crawl's reasons for missing URLs to the lines. The latest decision counts: ledger and archive
// differ in order.
func (a *absent) addReasons(lines iter.Seq2[storage.Line, error]) error {
	bad := 0
	for l, err := range lines {
		if err != nil {
			if bad++; bad > maxNotes {
				return err
			}
			continue
		}
		w := whyOf(&l)
		u, err := canon.Parse(l.URL)
		if err != nil || w.rank == 0 {
			continue
		}
		if l.Decision == storage.DecisionRobots {
			if host := u.Authority().String(); w.after(a.shut[host]) {
				a.shut[host] = w
			}
			continue
		}
		if err := a.lines.Add([]byte(u.Key() + "\t" + w.String())); err != nil {
			return err
		}
		if l.Count > 0 {
			w.detail = "one of many of its host: " + w.detail
			if host := u.Authority().String(); w.after(a.hosts[host]) {
				a.hosts[host] = w
			}
		}
	}
	return nil
}

// maxDetail bounds a detail, in bytes.
const maxDetail = 300

// whyOf returns the reason in a line of the ledger. A deferral ranks below an outcome.
func whyOf(l *storage.Line) why {
	w := why{detail: l.Reason, rank: 2, at: l.Time.UnixMicro()}
	switch l.Decision {
	case storage.DecisionDisallow:
		w.reason = Robots
		if l.RobotsLine > 0 {
			w.detail = fmt.Sprintf("%s: line %d: %s", l.Reason, l.RobotsLine, l.RobotsRule)
		}
	case storage.DecisionOptOut:
		w.reason = OptOut
	case storage.DecisionRefuse:
		switch l.Reason {
		case storage.RuleNoFollow:
			w.reason, w.rank = NoFollow, 1 // a later link may bring it in
		case storage.RuleDepth:
			w.reason, w.rank = Scope, 1
		default:
			w.reason = Scope
		}
	case storage.DecisionHold:
		w.reason = Held
	case storage.DecisionRobots: // for a whole host while it is unavailable (RFC 9309 2.3.1.4)
		if s := l.Status; s == 0 || s >= 500 || s == 408 || s == 425 || s == 429 {
			w.reason, w.detail = Robots, "robots.txt: "+l.Reason
		}
	case storage.DecisionAllow:
		switch {
		case l.Outcome == storage.OutcomeDisallowed:
			w.reason = Robots
		case l.Outcome == storage.OutcomeDeferred:
			w.reason, w.rank = NotFetched, 1
		case l.Outcome == storage.OutcomeGone:
			w.reason = Gone
		case l.Outcome == storage.OutcomeDropped && strings.HasPrefix(l.Reason, storage.RuleOfScope):
			w.reason = Scope
		case l.Outcome == storage.OutcomeDropped && l.Reason == string(TooLarge):
			w.reason = TooLarge
		default:
			w.reason = Failed
		}
	default:
		w.rank = 0
	}
	w.detail = layout.CutRunes(w.detail, maxDetail)
	return w
}

// The lists of a mirror.
const (
	MapFile     = layout.MapFile     // see Entry
	MissingFile = layout.MissingFile // see Missing
)

// Entry is a line of the map: a URL with a file. Lines are sorted by URL.
type Entry struct {
	URL      string `json:"url"`                // canonical
	File     string `json:"file,omitempty"`     // slash-separated, below the mirror's directory
	Redirect string `json:"redirect,omitempty"` // the URL at the end of its redirects, which has the file
	Status   int    `json:"status"`
	Type     string `json:"type,omitempty"`     // its Content-Type, cut to 256 bytes
	Digest   string `json:"digest,omitempty"`   // of the payload, as archived
	Record   string `json:"record,omitempty"`   // id of the record that has the body
	Date     string `json:"date,omitempty"`     // of that record
	Seen     string `json:"seen,omitempty"`     // time of the last such response, if later
	Size     int64  `json:"size,omitempty"`     // of the file, in bytes; only in one line of a shared file
	Document string `json:"document,omitempty"` // Rewritten or Unread for a file that may have references
	Older    string `json:"older,omitempty"`    // why it is an older response: "gone", "error" or "damaged"
}

// The values of Entry.Document.
const (
	Rewritten = "rewritten" // references were replaced
	Unread    = "unread"    // too large or unreadable
)

// maxMapLine bounds a line of a mirror's lists, in bytes: a URL has at most 8 KiB, a name 2 KiB.
const maxMapLine = 256 << 10

// Map returns the map of the mirror in dir. A file outside the mirror is an error.
func Map(dir string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for e, err := range readLines[Entry](filepath.Join(dir, MapFile)) {
			if err == nil && !local(e.File) {
				err = fmt.Errorf("mirror: %s names the file %.100q, which no mirror can have", filepath.Join(dir, MapFile), e.File)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func local(name string) bool {
	return fs.ValidPath(name) && name != "." && path.Clean(name) == name && filepath.IsLocal(filepath.FromSlash(name)) &&
		!strings.ContainsAny(name, "\\\x00")
}

// MissingLines returns the list of missing URLs of the mirror in dir.
func MissingLines(dir string) iter.Seq2[Missing, error] {
	return readLines[Missing](filepath.Join(dir, MissingFile))
}

// readLines reads a file of JSON lines. An error is the last.
func readLines[T any](path string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		f, err := durable.Open(path) // fails for a pipe instead of waiting
		if err != nil {
			yield(zero, fmt.Errorf("mirror: %w", err))
			return
		}
		defer f.Close()
		in := bufio.NewScanner(f)
		in.Buffer(nil, maxMapLine)
		for row := 1; in.Scan(); row++ {
			var v T
			if err := json.Unmarshal(in.Bytes(), &v); err != nil {
				yield(zero, fmt.Errorf("mirror: %s: line %d: %w", path, row, err))
				return
			}
			if !yield(v, nil) {
				return
			}
		}
		if err := in.Err(); err != nil {
			yield(zero, fmt.Errorf("mirror: %s: %w", path, err))
		}
	}
}

// marshal encodes a line without HTML escapes.
func marshal(v any) (string, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// writeSorted writes the lines of a sorter without their keys, and closes it.
func writeSorted(w io.Writer, s *sorted.Sorter) (err error) {
	defer func() { err = errors.Join(err, s.Close()) }()
	b := bufio.NewWriterSize(w, 64<<10)
	for line, err := range s.All() {
		if err != nil {
			return err
		}
		_, line, _ = bytes.Cut(line, []byte("\t"))
		_, _ = b.Write(line) // Flush returns the error
		_ = b.WriteByte('\n')
	}
	return b.Flush()
}

// dateForm is that of WARC-Date in this crawler's archives.
const dateForm = "2006-01-02T15:04:05.000000Z"

func dateOf(t time.Time) string { return t.UTC().Format(dateForm) }

// diff counts how the payload digests in two mirrors' maps differ.
func diff(before, after string, s *Summary) error {
	next, stop := iter.Pull2(Map(before))
	defer stop()
	old, err, more := next()
	for e, eerr := range Map(after) {
		if eerr != nil {
			return eerr
		}
		for ; more && err == nil && old.URL < e.URL; old, err, more = next() {
			s.Lost++
		}
		switch {
		case err != nil:
			return err
		case !more || old.URL != e.URL:
			s.New++
			continue
		case old.Digest != e.Digest || old.Redirect != e.Redirect:
			s.Differ++
		default:
			s.Unchanged++
		}
		old, err, more = next()
	}
	for ; more && err == nil; old, err, more = next() {
		s.Lost++
	}
	return err
}
