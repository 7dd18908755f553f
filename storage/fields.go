package storage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Field is a field of a Line. The table fields is the schema: the ledger's JSON, the archive's metadata records, their
// reader, and the tables in docs/reference/ledger.md and archives.md follow from it.
type Field struct {
	JSON     string // the name in the ledger
	Metadata string // the name in an exchange's metadata record; empty if it is not in there
	Meaning  string

	place      int              // in the metadata record, from 1; 0 if it has none
	isAlways   bool             // each line of the ledger has it
	isWithheld bool             // it leads to other sites: it follows the salt of a line and is not in the line's public form
	hasZero    func(*Line) bool // nil, or whether the ledger has a zero
	form       form
}

type form interface {
	kind() string // its JSON type
	isZero(l *Line) bool
	appendJSON(b []byte, l *Line) []byte
	// readJSON sets the field from a valid JSON value other than null.
	readJSON(l *Line, value []byte) error
	// appendText appends the value as in a metadata record; setText reads it. Each element of a list has its own line.
	appendText(b []byte, l *Line) []byte
	setText(l *Line, s string) error
}

// Kind returns the JSON type of the field's values: "string", "number", "boolean" or "array".
func (f *Field) Kind() string { return f.form.kind() }

// Always reports whether each line of the ledger has the field, also where it is zero.
func (f *Field) Always() bool { return f.isAlways }

// Withheld reports whether the public form of a line lacks the field, since it leads to other sites.
func (f *Field) Withheld() bool { return f.isWithheld }

// IsSaid reports whether l has a value there: more than a zero, or a zero with a meaning.
func (f *Field) IsSaid(l *Line) bool { return !f.form.isZero(l) || f.hasZero != nil && f.hasZero(l) }

// Lines returns the values, one on a line, of a field that a metadata record repeats. It reports false for another field.
func (f *Field) Lines(l *Line) (string, bool) {
	if t, ok := f.form.(lines); ok {
		return *t(l), true
	}
	return "", false
}

// AppendText appends the field's value as in a metadata record.
func (f *Field) AppendText(b []byte, l *Line) []byte { return f.form.appendText(b, l) }

// SetText reads the output of AppendText into l; for a repeated field it adds a line. An error names the field and leaves l
// unchanged.
func (f *Field) SetText(l *Line, s string) error {
	if err := f.form.setText(l, s); err != nil {
		return fmt.Errorf("field %q: %w", f.Metadata, err)
	}
	return nil
}

type text struct {
	get func(*Line) string
	set func(*Line, string)
}

func textOf[S ~string](at func(*Line) *S) form {
	return text{func(l *Line) string { return string(*at(l)) }, func(l *Line, s string) { *at(l) = S(s) }}
}

func (text) kind() string                          { return "string" }
func (t text) isZero(l *Line) bool                 { return t.get(l) == "" }
func (t text) appendJSON(b []byte, l *Line) []byte { return AppendString(b, t.get(l)) }
func (t text) appendText(b []byte, l *Line) []byte { return append(b, t.get(l)...) }
func (t text) setText(l *Line, s string) error     { t.set(l, s); return nil }
func (t text) readJSON(l *Line, value []byte) error {
	s, err := readString(value)
	if err == nil {
		t.set(l, s)
	}
	return err
}

// lines is a text of several lines, in JSON an array.
type lines func(*Line) *string

func (lines) kind() string                          { return "array" }
func (t lines) isZero(l *Line) bool                 { return *t(l) == "" }
func (t lines) appendText(b []byte, l *Line) []byte { return append(b, *t(l)...) }

func (t lines) appendJSON(b []byte, l *Line) []byte {
	b = append(b, '[')
	for s, more := *t(l), true; more; {
		var line string
		line, s, more = strings.Cut(s, "\n")
		if b = AppendString(b, line); more {
			b = append(b, ',')
		}
	}
	return append(b, ']')
}

func (t lines) readJSON(l *Line, value []byte) error {
	var all []string
	err := json.Unmarshal(value, &all)
	if err == nil {
		*t(l) = strings.Join(all, "\n")
	}
	return err
}

// Limits of the lines of a repeated field of a metadata record: more than any writer needs.
const (
	MaxText  = 64 << 10 // bytes
	MaxLines = 1000
)

var errLines = fmt.Errorf("its lines come to more than %d KiB or %d", MaxText>>10, MaxLines)

func (t lines) setText(l *Line, s string) error {
	all := t(l)
	switch {
	case len(*all)+len(s) > MaxText, strings.Count(*all, "\n") >= MaxLines-1:
		return errLines
	case *all == "":
		*all = s
	default:
		*all += "\n" + s
	}
	return nil
}

type number struct {
	get func(*Line) int64
	set func(*Line, int64)
	max int64
}

func numberOf[N int | int64](at func(*Line) *N) form {
	var most N = 1<<(strconv.IntSize-1) - 1 // also bounds an int64 of a line
	return number{func(l *Line) int64 { return int64(*at(l)) }, func(l *Line, n int64) { *at(l) = N(n) }, int64(most)}
}

func (number) kind() string                           { return "number" }
func (n number) isZero(l *Line) bool                  { return n.get(l) == 0 }
func (n number) appendJSON(b []byte, l *Line) []byte  { return strconv.AppendInt(b, n.get(l), 10) }
func (n number) appendText(b []byte, l *Line) []byte  { return n.appendJSON(b, l) }
func (n number) readJSON(l *Line, value []byte) error { return n.setText(l, string(value)) }

func (n number) setText(l *Line, s string) error {
	v, err := strconv.ParseInt(s, 10, 64)
	if err == nil && (v > n.max || v < -n.max-1) {
		err = strconv.ErrRange
	}
	if err != nil {
		return noValue(s, err)
	}
	n.set(l, v)
	return nil
}

type flag func(*Line) *bool

func (flag) kind() string                          { return "boolean" }
func (f flag) isZero(l *Line) bool                 { return !*f(l) }
func (f flag) appendJSON(b []byte, l *Line) []byte { return strconv.AppendBool(b, *f(l)) }
func (f flag) appendText(b []byte, l *Line) []byte { return f.appendJSON(b, l) }

func (f flag) readJSON(l *Line, value []byte) error { return json.Unmarshal(value, f(l)) }

func (f flag) setText(l *Line, s string) error {
	v, err := strconv.ParseBool(s)
	if err != nil {
		return noValue(s, err)
	}
	*f(l) = v
	return nil
}

type instant func(*Line) *time.Time

func (instant) kind() string          { return "string" }
func (i instant) isZero(l *Line) bool { return i(l).IsZero() }
func (i instant) appendJSON(b []byte, l *Line) []byte {
	return append(i.appendText(append(b, '"'), l), '"')
}
func (i instant) appendText(b []byte, l *Line) []byte { return i(l).UTC().AppendFormat(b, timeForm) }

// readJSON accepts only the form that appendJSON writes.
func (i instant) readJSON(l *Line, value []byte) error {
	if err := i(l).UnmarshalJSON(value); err != nil {
		return err
	}
	var b [len(timeForm) + 8]byte
	if form := i.appendJSON(b[:0], l); !bytes.Equal(form, value) {
		return fmt.Errorf("%.80s is not of the form %s", value, timeForm)
	}
	return nil
}

func (i instant) setText(l *Line, s string) error {
	v, err := time.Parse(time.RFC3339, s)
	if err == nil {
		*i(l) = v
	}
	return err
}

// duration is in milliseconds with up to three decimals, truncated to microseconds: neither an end nor a delay may be
// recorded as later or longer than it was.
type duration func(*Line) *time.Duration

// longest is more than any exchange, delay or gap takes; sums of longer ones would overflow.
const longest = 10 * 365 * 24 * time.Hour

func (duration) kind() string                          { return "number" }
func (d duration) isZero(l *Line) bool                 { return *d(l) == 0 }
func (d duration) appendJSON(b []byte, l *Line) []byte { return appendMillis(b, *d(l)) }
func (d duration) appendText(b []byte, l *Line) []byte { return appendMillis(b, *d(l)) }

func (d duration) readJSON(l *Line, value []byte) error {
	v, err := time.ParseDuration(string(value) + "ms")
	if err == nil {
		*d(l) = v
	}
	return err
}

func (d duration) setText(l *Line, s string) error {
	v, err := readMillis(s)
	if err != nil {
		return noValue(s, err)
	}
	*d(l) = v
	return nil
}

type endpoint func(*Line) *netip.AddrPort

func (endpoint) kind() string          { return "string" }
func (e endpoint) isZero(l *Line) bool { return !e(l).IsValid() }
func (e endpoint) appendJSON(b []byte, l *Line) []byte {
	return append(e.appendText(append(b, '"'), l), '"')
}

func (e endpoint) appendText(b []byte, l *Line) []byte {
	a := *e(l) // a zone names an interface of this machine
	return netip.AddrPortFrom(a.Addr().WithZone(""), a.Port()).AppendTo(b)
}

func (e endpoint) readJSON(l *Line, value []byte) error {
	s, err := readString(value)
	if err != nil {
		return err
	}
	return e(l).UnmarshalText([]byte(s))
}

func (e endpoint) setText(l *Line, s string) error { return e(l).UnmarshalText([]byte(s)) }

// fields is the schema, in the order of the ledger. The number is the place in the metadata record, whose names are
// Heritrix's where it has one.
var fields = []Field{
	field("time", 0, "", instant(func(l *Line) *time.Time { return &l.Time }),
		"time of the decision").always(),
	field("url", 0, "", textOf(func(l *Line) *string { return &l.URL }),
		"the URL of the decision").always(),
	field("kind", 3, "kind", textOf(func(l *Line) *Kind { return &l.Kind }),
		"how the URL was found: seed, link, embed, redirect, sitemap, map, script"),
	field("depth", 2, "depth", numberOf(func(l *Line) *int { return &l.Depth }),
		"number of links from its seed"),
	field("decision", 8, "decision", textOf(func(l *Line) *Decision { return &l.Decision }),
		"the kind of decision").always(),
	field("reason", 9, "reason", textOf(func(l *Line) *string { return &l.Reason }),
		"the reason, one of the listed words"),
	field("own", 15, "ownHost", flag(func(l *Line) *bool { return &l.Own }),
		"true if the host is the operator's own"),
	field("line", 16, "robotsLine", numberOf(func(l *Line) *int { return &l.RobotsLine }),
		"number of the deciding line of robots.txt, from 1"),
	field("rule", 17, "robotsRule", textOf(func(l *Line) *string { return &l.RobotsRule }),
		"the rule in that line, as written"),
	field("group", 18, "robotsGroup", textOf(func(l *Line) *string { return &l.RobotsGroup }),
		"the user-agent line of its group, as written"),
	field("runner_up", 19, "robotsRunnerUp", textOf(func(l *Line) *string { return &l.RunnerUp }),
		"the next best matching rule"),
	field("robots_sha256", 20, "robotsSha256", textOf(func(l *Line) *string { return &l.RobotsSHA256 }),
		"SHA-256 of that robots.txt"),
	field("robots_record", 22, "robotsRecord", textOf(func(l *Line) *string { return &l.RobotsRecord }),
		"ID of its archived record"),
	field("standard", 21, "robotsStandard", textOf(func(l *Line) *string { return &l.Standard }),
		"the robots standard used to parse it"),
	// An explicit delay of 0 is not a missing one.
	field("pace_ms", 23, "paceMs", duration(func(l *Line) *time.Duration { return &l.Pace }),
		"delay required before the request; present if `pace_by` is").when(func(l *Line) bool { return l.PaceBy != "" }),
	field("pace_by", 24, "paceBy", textOf(func(l *Line) *PaceBy { return &l.PaceBy }),
		"the reason for that delay"),
	field("gap_ms", 25, "gapMs", duration(func(l *Line) *time.Duration { return &l.Gap }),
		"actual delay, from the end of the previous response of the authority to this request"),
	field("attempt", 13, "attempt", numberOf(func(l *Line) *int { return &l.Attempt }),
		"number of this attempt, from 1"),
	field("began", 0, "", instant(func(l *Line) *time.Time { return &l.Began }),
		"time when the first byte of the request was sent"),
	field("took_ms", 6, "fetchTimeMs", duration(func(l *Line) *time.Duration { return &l.Took }),
		"time from the first byte of the request to the last of the response, truncated to microseconds; present if `began` is").when(func(l *Line) bool { return !l.Began.IsZero() }),
	field("first_byte_ms", 7, "firstByteTimeMs", duration(func(l *Line) *time.Duration { return &l.FirstByte }),
		"time from the end of the request to the first byte of the response"),
	field("address", 0, "", endpoint(func(l *Line) *netip.AddrPort { return &l.Addr }),
		"address and port; missing if only the proxy resolves the name"),
	field("proxy", 39, "proxy", textOf(func(l *Line) *string { return &l.Proxy }),
		"the proxy, without user and password; missing without one"),
	field("outcome", 10, "outcome", textOf(func(l *Line) *Outcome { return &l.Outcome }),
		"the result for the URL, or \"deferred\""),
	field("interim", 11, "interimAnswers", numberOf(func(l *Line) *int { return &l.Interim }),
		"number of informational responses (1xx), which are not archived"),
	field("status", 12, "status", numberOf(func(l *Line) *int { return &l.Status }),
		"HTTP status"),
	field("type", 0, "", textOf(func(l *Line) *string { return &l.Type }),
		"media type of the response, the last of several; missing if the server sent none"),
	field("octets", 0, "", numberOf(func(l *Line) *int64 { return &l.Octets }),
		"bytes received, as transferred"),
	field("payload_sha256", 34, "payloadSha256", textOf(func(l *Line) *string { return &l.Payload }),
		"SHA-256 of the payload; in metadata only for a body that was omitted (`noarchive`)"),
	field("truncated", 33, "truncated", textOf(func(l *Line) *string { return &l.Truncated }),
		"why the response is incomplete"),
	field("rest_ms", 27, "restMs", duration(func(l *Line) *time.Duration { return &l.Rest }),
		"back-off that the response causes, from its end, beyond the usual delay"),
	field("rest_by", 28, "restBy", textOf(func(l *Line) *PaceBy { return &l.RestBy }),
		"the reason for that back-off: `retry-after`, `ratelimit`, `errors` or `robots.txt`, as in `pace_by`"),
	field("record", 0, "", textOf(func(l *Line) *string { return &l.Record }),
		"ID of the archived record, without angle brackets"),
	field("blocks_sha256", 0, "", textOf(func(l *Line) *string { return &l.Blocks }),
		"commitment to the archive: SHA-256 of the SHA-256s (32 bytes each) of the blocks of request, response and metadata, in this order"),
	field("heads_sha256", 35, "headsSha256", textOf(func(l *Line) *string { return &l.Heads }),
		"commitment to the heads: SHA-256 of the request's block followed by the head of the response, as archived"),
	field("clock_ahead_ms", 26, "clockAheadMs", duration(func(l *Line) *time.Duration { return &l.Ahead }),
		"how far the clock jumped ahead since the start of the run, for example after sleep; not part of `gap_ms`"),
	field("modified", 36, "lastModified", instant(func(l *Line) *time.Time { return &l.Modified }),
		"last change of the page by `Last-Modified`; missing if later than the response"),
	field("holds_ms", 37, "holdsMs", duration(func(l *Line) *time.Duration { return &l.Holds }),
		"how long the response is fresh by `Cache-Control` or `Expires`, from its arrival"),
	field("change", 14, "change", textOf(func(l *Line) *Change { return &l.Change }),
		"in an update, the change since the previous generation"),
	field("count", 0, "", numberOf(func(l *Line) *int64 { return &l.Count }),
		"number of URLs of the host that this line covers; its URL is an example"),
	field("list_sha256", 32, "listSha256", textOf(func(l *Line) *string { return &l.List }),
		"SHA-256 of the deciding opt-out list; `line` and `rule` are then its line and entry"),
	field("directives", 29, "directives", textOf(func(l *Line) *string { return &l.Directives }),
		"robots directives of the response that were understood: noindex, nofollow, noarchive, unavailable_after: with its date as written"),
	field("asked", 30, "asked", lines(func(l *Line) *string { return &l.Asked }),
		"robots directives as written: \"X-Robots-Tag: VALUE\", \"meta NAME: VALUE\""),
	field("prefs", 31, "prefs", lines(func(l *Line) *string { return &l.Prefs }),
		"usage preferences that apply to the response: \"SOURCE NAME: VALUE\""),
	field("needs_script", 38, "needsScript", flag(func(l *Line) *bool { return &l.NeedsScript }),
		"true if the page is empty without JavaScript"),
	field("via", 1, "via", textOf(func(l *Line) *string { return &l.Via }),
		"the page that led here, or the URL that redirected; for the decision `robots`, the robots.txt for which it was requested, if different").withhold(),
	field("seed", 4, "seed", textOf(func(l *Line) *string { return &l.Seed }),
		"the seed from which it was found").withhold(),
	field("tag", 5, "sourceTag", textOf(func(l *Line) *string { return &l.Tag }),
		"the tag of that seed").withhold(),
}

func field(json string, place int, metadata string, f form, meaning string) Field {
	return Field{JSON: json, Metadata: metadata, Meaning: meaning, place: place, form: f}
}

func (f Field) withhold() Field {
	f.isWithheld = true
	return f
}

func (f Field) always() Field {
	f.isAlways = true
	return f
}

func (f Field) when(hasZero func(*Line) bool) Field {
	f.hasZero = hasZero
	return f
}

// Fields returns the schema in the order of the ledger.
func Fields() []Field { return slices.Clone(fields) }

var inMetadata = func() []*Field {
	order := make([]*Field, len(fields)+1)
	for i := range fields {
		if f := &fields[i]; f.place > 0 {
			order[f.place] = f
		}
	}
	return slices.DeleteFunc(order, func(f *Field) bool { return f == nil })
}()

// InMetadata returns the fields of an exchange's metadata record in its order. The caller must not change the slice.
func InMetadata() []*Field { return inMetadata }

var byJSON, byMetadata = func() (json, metadata map[string]*Field) {
	json, metadata = map[string]*Field{}, map[string]*Field{}
	for i := range fields {
		f := &fields[i]
		json[f.JSON] = f
		if f.Metadata != "" {
			metadata[f.Metadata] = f
		}
	}
	return json, metadata
}()

// FieldOfMetadata returns the field with that name in metadata records, or nil.
func FieldOfMetadata(name string) *Field { return byMetadata[name] }
