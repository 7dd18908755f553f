package ndjson

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// Writer writes an export. It is unusable after an error.
type Writer struct {
	out   *bufio.Writer
	json  *json.Encoder
	sum   hash.Hash
	ended Ended
	whole bool // the totals are written
}

// NewWriter returns a writer to w. Its output is an export only after Close.
func NewWriter(w io.Writer) *Writer {
	n := &Writer{out: bufio.NewWriterSize(w, 64<<10), sum: sha256.New()}
	n.json = json.NewEncoder(io.MultiWriter(n.out, n.sum))
	n.json.SetEscapeHTML(false)
	return n
}

// Write writes the next item, in the order of frontier.Item.
func (w *Writer) Write(i frontier.Item) error {
	if w.whole {
		return errors.New("frontier/ndjson: write: an item after the totals")
	}
	switch {
	case i.Head != nil:
		return w.line(line{Head: &head{Format, i.Head.Secret, i.Head.Openings, i.Head.Unclean, span(i.Head.Floor)}})
	case i.Seed != nil:
		w.ended.Seeds++
		return w.line(line{Seed: &seed{i.Seed.URL, text(i.Seed.Tag), text(i.Seed.From)}})
	case i.Host != nil:
		w.ended.Hosts++
		return w.line(line{Host: lineOfHost(i.Host)})
	case i.URL != nil:
		w.ended.URLs++
		return w.line(line{URL: lineOfEntry(i.URL)})
	case i.Blob != nil:
		w.ended.Blobs++
		return w.line(line{Blob: &blob{i.Blob}})
	case i.Totals != nil:
		w.whole = true
		return w.totals(i.Totals)
	}
	for list := range slices.Chunk(i.Refused, maxList) {
		prints := make([]print, len(list))
		for k, p := range list {
			prints[k] = print(p)
		}
		w.ended.Refused += int64(len(list))
		if err := w.line(line{Refused: prints}); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) totals(t *frontier.Totals) error {
	hosts := slices.SortedFunc(maps.Keys(t.Refused), func(a, b canon.Authority) int { return strings.Compare(a.String(), b.String()) })
	for list := range slices.Chunk(hosts, maxList) {
		tally := make(map[canon.Authority]int64, len(list))
		for _, a := range list {
			tally[a] = t.Refused[a]
		}
		if err := w.line(line{Tally: tally}); err != nil {
			return err
		}
	}
	return w.line(line{Totals: &totals{t.Strange, t.Reasons, t.Capped, t.Counts}})
}

func (w *Writer) line(l line) error {
	w.ended.Lines++
	if err := w.json.Encode(l); err != nil {
		return fmt.Errorf("frontier/ndjson: write line %d: %w", w.ended.Lines, err)
	}
	return nil
}

// Close writes the last line, which marks the export as complete, and returns its counts. It does not close the
// underlying writer.
func (w *Writer) Close() (Ended, error) {
	if !w.whole {
		return w.ended, errors.New("frontier/ndjson: close: the totals were not written: the export is not whole")
	}
	ended := w.ended
	if err := w.line(line{End: &end{ended, hex.EncodeToString(w.sum.Sum(nil))}}); err != nil {
		return ended, err
	}
	if err := w.out.Flush(); err != nil {
		return ended, fmt.Errorf("frontier/ndjson: write the end: %w", err)
	}
	return ended, nil
}

const Format = 1 // the only number that this package writes and reads

const maxList = 1000 // fingerprints, or hosts of a tally, in a line

// line is a line. One member is set.
type line struct {
	Head    *head                     `json:"head,omitempty"`
	Seed    *seed                     `json:"seed,omitempty"`
	Blob    *blob                     `json:"blob,omitempty"`
	Host    *host                     `json:"host,omitempty"`
	URL     *entry                    `json:"url,omitempty"`
	Refused []print                   `json:"refused,omitempty"`
	Tally   map[canon.Authority]int64 `json:"tally,omitempty"`
	Totals  *totals                   `json:"totals,omitempty"`
	End     *end                      `json:"end,omitempty"`
}

type head struct {
	Format   int    `json:"format"`
	Secret   []byte `json:"secret"`
	Openings int64  `json:"openings"`
	Unclean  bool   `json:"unclean,omitempty"`
	Floor    span   `json:"floor,omitempty"`
}

type seed struct {
	URL  canon.URL `json:"url"`
	Tag  text      `json:"tag,omitempty"`
	From text      `json:"from,omitempty"`
}

type blob struct {
	Body []byte `json:"body"`
}

type host struct {
	Authority canon.Authority    `json:"authority"`
	Condition frontier.Condition `json:"condition,omitempty"`
	Reason    text               `json:"reason,omitempty"`
	Pace      span               `json:"pace,omitempty"`
	Width     int                `json:"width,omitempty"`
	Robots    []byte             `json:"robots,omitempty"`
	Memory    []byte             `json:"memory,omitempty"`
	Hold      *hold              `json:"hold,omitempty"`
	Wait      span               `json:"wait,omitempty"`
	Leased    bool               `json:"leased,omitempty"`
	Queued    int64              `json:"queued,omitempty"`
	InFlight  int64              `json:"in_flight,omitempty"`
	Deferred  int64              `json:"deferred,omitempty"`
	Outcomes  map[string]int64   `json:"outcomes,omitempty"`
}

type hold struct {
	Act    frontier.Act `json:"act"`
	Reason text         `json:"reason,omitempty"`
	Wait   span         `json:"wait,omitempty"`
}

type entry struct {
	URL      canon.URL     `json:"url"`
	Kind     frontier.Kind `json:"kind"`
	Via      text          `json:"via,omitempty"`
	Depth    int           `json:"depth,omitempty"`
	Hops     int           `json:"hops,omitempty"`
	Embeds   int           `json:"embeds,omitempty"`
	Away     int           `json:"away,omitempty"`
	Seed     text          `json:"seed,omitempty"`
	Tag      text          `json:"tag,omitempty"`
	Print    print         `json:"print"`
	State    state         `json:"state"`
	Reason   text          `json:"reason,omitempty"`
	Attempts int           `json:"attempts,omitempty"`
	Wait     span          `json:"wait,omitempty"`
	Replaced *canon.URL    `json:"replaced,omitempty"`
	Stops    int           `json:"stops,omitempty"`
	Alone    int           `json:"alone,omitempty"`
}

// state is the outcome of a closed URL, or whether a pending one is deferred.
type state struct {
	outcome  frontier.Outcome
	deferred bool
}

type totals struct {
	Strange int64 `json:"strange,omitempty"`
	Reasons sums  `json:"reasons,omitempty"`
	Capped  sums  `json:"capped,omitempty"`
	Counts  sums  `json:"counts,omitempty"`
}

// Ended are the counts of a whole export, in its last line.
type Ended struct {
	Lines   int64 `json:"lines"` // before the last
	Seeds   int64 `json:"seeds"`
	Blobs   int64 `json:"blobs"`
	Hosts   int64 `json:"hosts"`
	URLs    int64 `json:"urls"`
	Refused int64 `json:"refused"` // fingerprints
}

type end struct {
	Ended
	SHA256 string `json:"sha256"`
}

// text is a string that may be invalid UTF-8, which JSON would alter.
type text string

type octets struct {
	Octets []byte `json:"octets"`
}

func (t text) MarshalJSON() ([]byte, error) {
	if !utf8.ValidString(string(t)) {
		return json.Marshal(octets{[]byte(t)})
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(string(t))
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func (t *text) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		var o octets
		err := json.Unmarshal(b, &o)
		*t = text(o.Octets)
		return err
	}
	var s string
	err := json.Unmarshal(b, &s)
	*t = text(s)
	return err
}

// span is a duration in Go's format: exact, and readable.
type span time.Duration

func (d span) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func (d *span) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = span(v)
	return err
}

// print is a fingerprint in hexadecimal: some readers lose precision of JSON numbers above 2⁵³.
type print frontier.Fingerprint

func (p print) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%016x", uint64(p)), nil }

func (p *print) UnmarshalText(b []byte) error {
	var raw [8]byte
	if n, err := hex.Decode(raw[:], b[:min(len(b), 16)]); err != nil || n != 8 || len(b) != 16 {
		return fmt.Errorf("fingerprint %.40q is not 16 hexadecimal digits", b)
	}
	*p = 0
	for _, o := range raw {
		*p = *p<<8 | print(o)
	}
	if *p == 0 {
		return errors.New("no fingerprint is zero")
	}
	return nil
}

func (s state) MarshalText() ([]byte, error) {
	switch {
	case s.deferred && s.outcome == 0:
		return []byte("deferred"), nil
	case s.outcome == 0:
		return []byte("queued"), nil
	case s.deferred:
		return nil, fmt.Errorf("no state %+v", s)
	}
	return s.outcome.MarshalText()
}

func (s *state) UnmarshalText(b []byte) error {
	switch string(b) {
	case "queued":
		*s = state{}
		return nil
	case "deferred":
		*s = state{deferred: true}
		return nil
	}
	*s = state{}
	if s.outcome.UnmarshalText(b) != nil {
		return fmt.Errorf("no state %.40q", b)
	}
	return nil
}

// sums are numbers by name, which may be any bytes: a list, in the order of the names.
type sums map[string]int64

type sum struct {
	Name text  `json:"name"`
	N    int64 `json:"n"`
}

func (s sums) MarshalJSON() ([]byte, error) {
	list := make([]sum, 0, len(s))
	for name, n := range s {
		list = append(list, sum{text(name), n})
	}
	slices.SortFunc(list, func(a, b sum) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	return json.Marshal(list)
}

func (s *sums) UnmarshalJSON(b []byte) error {
	var list []sum
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	*s = sums{}
	for _, one := range list {
		(*s)[string(one.Name)] += one.N
	}
	return nil
}

func lineOfHost(h *frontier.Host) *host {
	l := &host{
		Authority: h.Authority, Condition: h.Condition, Reason: text(h.Reason), Pace: span(h.Pace),
		Width: h.Width, Robots: h.Robots, Memory: h.Memory, Wait: span(h.Wait), Leased: h.Leased,
		Queued: h.Queued, InFlight: h.InFlight, Deferred: h.Deferred,
	}
	if h.Hold != (frontier.Hold{}) {
		l.Hold = &hold{h.Hold.Act, text(h.Hold.Reason), span(h.Hold.Wait)}
	}
	for o, n := range h.Outcomes {
		if n != 0 && o > 0 {
			if l.Outcomes == nil {
				l.Outcomes = map[string]int64{}
			}
			l.Outcomes[frontier.Outcome(o).String()] = n
		}
	}
	return l
}

func (l *host) item() (*frontier.Host, error) {
	h := &frontier.Host{
		Authority: l.Authority,
		HostUpdate: frontier.HostUpdate{
			Condition: l.Condition, Reason: string(l.Reason), Pace: time.Duration(l.Pace),
			Width: l.Width, Robots: l.Robots, Memory: l.Memory,
		},
		Wait: time.Duration(l.Wait), Leased: l.Leased, Queued: l.Queued, InFlight: l.InFlight, Deferred: l.Deferred,
	}
	switch {
	case h.Authority.IsZero():
		return nil, errors.New("a host without its authority")
	case h.Wait < 0 || h.Pace < 0 || h.Width < 0:
		return nil, fmt.Errorf("host %s: a negative number", h.Authority)
	case len(h.Robots) > frontier.MaxRobots || len(h.Memory) > frontier.MaxMemory:
		return nil, fmt.Errorf("host %s: more bytes of robots state or memory than a frontier keeps", h.Authority)
	}
	if l.Hold != nil {
		if a := l.Hold.Act; a != frontier.Park && a != frontier.Drop {
			return nil, fmt.Errorf("host %s: no hold is called %q", h.Authority, a)
		}
		h.Hold = frontier.Hold{Act: l.Hold.Act, Reason: string(l.Hold.Reason), Wait: time.Duration(l.Hold.Wait)}
	}
	for name, n := range l.Outcomes {
		var o frontier.Outcome
		if err := o.UnmarshalText([]byte(name)); err != nil {
			return nil, fmt.Errorf("host %s: %w", h.Authority, err)
		}
		h.Outcomes[o] = n
	}
	return h, nil
}

func lineOfEntry(e *frontier.Entry) *entry {
	l := &entry{
		URL: e.URL, Kind: e.Kind, Via: text(e.Via), Depth: e.Depth, Hops: e.Hops, Embeds: e.Embeds, Away: e.Away,
		Seed: text(e.Seed), Tag: text(e.Tag), Print: print(e.Print), State: state{e.Outcome, e.Deferred},
		Reason: text(e.Reason), Attempts: e.Attempts, Wait: span(e.Wait), Stops: e.Stops, Alone: e.Alone,
	}
	if !e.Replaced.IsZero() {
		l.Replaced = &e.Replaced
	}
	return l
}

func (l *entry) item() (*frontier.Entry, error) {
	e := &frontier.Entry{
		Candidate: frontier.Candidate{
			URL: l.URL, Kind: l.Kind, Via: string(l.Via), Depth: l.Depth, Hops: l.Hops, Embeds: l.Embeds, Away: l.Away,
			Seed: string(l.Seed), Tag: string(l.Tag),
		},
		Print: frontier.Fingerprint(l.Print), Outcome: l.State.outcome, Deferred: l.State.deferred,
		Reason: string(l.Reason), Attempts: l.Attempts, Wait: time.Duration(l.Wait), Stops: l.Stops, Alone: l.Alone,
	}
	if l.Replaced != nil {
		e.Replaced = *l.Replaced
	}
	switch {
	case e.URL.IsZero():
		return nil, errors.New("a URL line without its URL")
	case e.Kind == 0:
		return nil, fmt.Errorf("URL %s has no kind", e.URL)
	case e.Print == 0:
		return nil, fmt.Errorf("URL %s has no fingerprint", e.URL)
	case e.Depth < 0 || e.Hops < 0 || e.Embeds < 0 || e.Away < 0 || e.Attempts < 0 || e.Wait < 0 || e.Stops < 0 || e.Alone < 0:
		return nil, fmt.Errorf("URL %s: a negative number", e.URL)
	}
	return e, nil
}
