package evidence

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"

	"curtsy/robots/naive"
	"curtsy/storage"
	"curtsy/storage/audit/finding"
)

// Store keeps the texts of robots.txt in a temporary file, each once, and the readings of some in memory.
type Store struct {
	f     *os.File
	n     int64
	at    map[[32]byte]Text
	by    map[readingKey]*naive.Reading
	size  int                 // of these
	paces map[readingKey]pace // by reader; by RFC 9309 only
}

// Text locates a text in the temporary file. The zero value is no text.
type Text struct {
	SHA256 [32]byte
	off    int64
	Length int32
	Known  bool
}

type readingKey struct {
	sha             [32]byte
	token, standard string
}

type pace struct {
	Delay float64 // seconds by Crawl-delay; 0 without one
	Rate  float64 // seconds by Request-rate; 0 without one
}

// maxReadings bounds the readings in memory, in bytes; maxTexts the texts that Put and Find know by digest.
const (
	maxReadings = 16 << 20
	maxPaces    = 1 << 16
	maxTexts    = 1 << 17
	maxSpill    = 1 << 30 // of the temporary file
)

func NewStore(dir string) (*Store, error) {
	f, err := os.CreateTemp(dir, "curtsy-audit-*")
	if err != nil {
		return nil, fmt.Errorf("audit: make a temporary file: %w", err)
	}
	return &Store{f: f, at: map[[32]byte]Text{}, by: map[readingKey]*naive.Reading{}, paces: map[readingKey]pace{}}, nil
}

func (t *Store) Close() {
	t.f.Close()           // it holds copies only
	os.Remove(t.f.Name()) // and is in the system's folder for what may be lost
}

// Put keeps a text. If there are too many, it returns the zero Text.
func (t *Store) Put(body []byte) (Text, error) {
	sha := sha256.Sum256(body)
	if known, ok := t.at[sha]; ok {
		return known, nil
	}
	if t.n+int64(len(body)) > maxSpill {
		return Text{}, nil
	}
	at := Text{sha, t.n, int32(len(body)), true}
	if _, err := t.f.WriteAt(body, t.n); err != nil {
		return at, fmt.Errorf("audit: keep the text of a robots.txt: %w", err)
	}
	t.n += int64(len(body))
	if len(t.at) >= maxTexts {
		for k := range t.at { // any; hosts that it binds know where it is
			delete(t.at, k)
			break
		}
	}
	t.at[sha] = at
	return at, nil
}

// Find returns the text with that digest, unless it was forgotten.
func (t *Store) Find(sha [32]byte) Text { return t.at[sha] }

func (t *Store) body(at Text) ([]byte, error) {
	b := make([]byte, at.Length)
	if _, err := t.f.ReadAt(b, at.off); err != nil {
		return nil, fmt.Errorf("audit: read the text of a robots.txt again: %w", err)
	}
	return b, nil
}

func (t *Store) reading(at Text, token, standard string) (*naive.Reading, error) {
	k := readingKey{at.SHA256, token, standard}
	if r := t.by[k]; r != nil {
		return r, nil
	}
	b, err := t.body(at)
	if err != nil {
		return nil, err
	}
	r := naive.Read(standard, b, token)
	if t.size += r.Size() + 300; t.size > maxReadings {
		clear(t.by)
		t.size = r.Size() + 300
	}
	t.by[k] = r
	return r, nil
}

// Pace returns the delays that a text requires. They outlive readings in memory: they are small and needed more often.
func (t *Store) Pace(at Text, token string) (pace, error) {
	k := readingKey{at.SHA256, token, "rfc9309"}
	p, ok := t.paces[k]
	if ok {
		return p, nil
	}
	b, err := t.body(at)
	if err != nil {
		return p, err
	}
	p.Delay, _ = naive.Delay(b, token)
	p.Rate, _ = naive.Rate(b, token)
	if len(t.paces) >= maxPaces {
		clear(t.paces)
	}
	t.paces[k] = p
	return p, nil
}

// Line returns a line of a text, from 1, as its author wrote it, without a comment.
func (t *Store) Line(at Text, n int) string {
	b, err := t.body(at)
	if err != nil {
		return ""
	}
	return finding.Short(naive.Written(b, n))
}

// Verdict is the verdict of one document on one token.
type Verdict struct {
	Token, Standard string
	Allowed         bool
	Line            int
	Target          string // without dot segments, where it was sent with some
}

func (v Verdict) String() string {
	word := "disallowed"
	if v.Allowed {
		word = "allowed"
	}
	if v.Line == 0 {
		return word + " for " + v.Token + " by no line"
	}
	return word + " for " + v.Token + " by line " + strconv.Itoa(v.Line) + " (" + v.Standard + ")"
}

// binding has the tokens that a text binds and the documents by which it is read.
type binding struct {
	Tokens    []string // product tokens
	Standards []string // the words of the warcinfo's field robots
}

// Verdicts are those of all tokens and documents that bind.
func (t *Store) Verdicts(text Text, target string, by binding) ([]Verdict, error) {
	var vs []Verdict
	for _, token := range by.Tokens {
		for _, standard := range by.Standards {
			r, err := t.reading(text, token, standard)
			if err != nil {
				return nil, err
			}
			ok, line := r.Allowed(target)
			vs = append(vs, Verdict{Token: token, Standard: standard, Allowed: ok, Line: line})
		}
	}
	return vs, nil
}

// Served returns the verdicts of a target as sent and, if different, without dot segments, as servers resolve it (RFC 3986
// 6.2.2.3).
func (t *Store) Served(text Text, target string, by binding) ([]Verdict, error) {
	vs, err := t.Verdicts(text, target, by)
	if plain := Undotted(target); err == nil && plain != target {
		var more []Verdict
		more, err = t.Verdicts(text, plain, by)
		for _, v := range more {
			v.Target = plain
			vs = append(vs, v)
		}
	}
	return vs, err
}

func InWords(vs []Verdict) string {
	var s []string
	for _, v := range vs {
		s = append(s, v.String())
	}
	return strings.Join(s, "; ")
}

// Agree reports whether one of the verdicts is the one in a line of the crawl.
func Agree(vs []Verdict, l *storage.Line, allowed bool) bool {
	if len(vs) == 0 {
		return l.RobotsLine == 0
	}
	return slices.ContainsFunc(vs, func(v Verdict) bool { return v.matches(l, allowed) })
}

// matches reports whether v is the verdict in a line of the crawl, except for its quotation.
func (v Verdict) matches(l *storage.Line, allowed bool) bool {
	return v.Allowed == allowed && v.Line == l.RobotsLine && (l.Standard == "" || l.Standard == v.Standard)
}

// quote returns the quotation of a verdict about a target. RFC 9309 gives Group and runner-up; certain reports that.
func (t *Store) quote(text Text, v Verdict, target string) (w quote, certain bool, err error) {
	b, err := t.body(text)
	if err != nil {
		return w, false, err
	}
	w.Rule = Plain(naive.Written(b, v.Line))
	if v.Standard != "rfc9309" {
		return w, false, nil
	}
	r, err := t.reading(text, v.Token, v.Standard)
	if err != nil {
		return w, false, err
	}
	w.Group = Plain(naive.Group(b, v.Token, v.Line))
	w.RunnerUp = Plain(naive.Written(b, r.RunnerUp(target)))
	return w, true, nil
}

// Misquoted returns the right quotation of the deciding robots.txt, or "" if the line quotes one of the verdicts it may mean.
func (t *Store) Misquoted(text Text, vs []Verdict, l *storage.Line, target string, allowed bool) (right string, err error) {
	quoted := quote{Rule: Plain(l.RobotsRule), Group: Plain(l.RobotsGroup), RunnerUp: Plain(l.RunnerUp)}
	for _, v := range vs {
		if !v.matches(l, allowed) {
			continue
		}
		w, certain, err := t.quote(text, v, cmp.Or(v.Target, target))
		if err != nil {
			return "", err
		}
		if w == quoted || !certain && w.Rule == quoted.Rule || v.Line == 0 && quoted == (quote{}) {
			return "", nil
		}
		right = w.String() + ", and not " + quoted.String()
	}
	return right, nil
}

// Told has the settings given to the audit, independent of the archive.
type Told struct {
	Floor  time.Duration // the shortest pause between two exchanges of a host that is not the operator's own; zero for none
	Token  string        // the product token; "" for the one that the archive names
	Strict bool          // other crawlers are also checked against this crawler's promises
	Ledger bool          // a ledger of this crawler is beside the archive
}

// Measure has the settings by which an exchange is judged. Settings in the archive count where they bind the crawl more.
type Measure struct {
	Told

	Info *Info // the last warcinfo record before it; nil without one
}

// Ours reports whether the archive says that this crawler made it.
func (m Measure) Ours() bool { return m.Info != nil && m.Info.Ours }

// Promises reports whether the archive is checked against this crawler's promises (docs/trust/politeness.md).
func (m Measure) Promises() bool { return m.Ours() || m.Strict }

// Declared is the product token that the audit or the archive names, or "".
func (m Measure) Declared() string {
	if m.Info == nil {
		return m.Token
	}
	if t := cmp.Or(m.Token, m.Info.Token); t != "" || m.Info.Ours {
		return t
	}
	return TokenOf(m.Info.Agent)
}

// Tokens are the product tokens that bind an exchange.
func (m Measure) Tokens(agent string) []string {
	t := cmp.Or(m.Declared(), TokenOf(agent))
	switch {
	case !m.Ours() || strings.EqualFold(t, OurToken):
		return []string{t}
	case t == "":
		return []string{OurToken}
	}
	return []string{t, OurToken}
}

// Standards are the documents that bind the archive: an older one only adds refusals (docs/trust/politeness.md, rule 6).
func (m Measure) Standards() []string {
	if m.Info != nil && (m.Info.Standard == "draft1996" || m.Info.Standard == "std1994") {
		return []string{"rfc9309", m.Info.Standard}
	}
	return []string{"rfc9309"}
}

// Binding returns the tokens that the archive's robots.txt files bind, and the documents by which they are read.
func (m Measure) Binding(agent string) binding {
	return binding{Tokens: m.Tokens(agent), Standards: m.Standards()}
}

// TokenOf derives a product token from a User-Agent: the name of its first product, or of the one that a browser's
// comment declares it compatible with. It is "" for a browser.
func TokenOf(agent string) string {
	name := agent
	if strings.HasPrefix(agent, "Mozilla/") {
		_, rest, ok := strings.Cut(agent, "compatible;")
		if !ok {
			return ""
		}
		name = strings.TrimLeft(rest, " ")
	}
	i := strings.IndexFunc(name, func(r rune) bool { return (r|0x20 < 'a' || r|0x20 > 'z') && r != '-' && r != '_' })
	if i < 0 {
		i = len(name)
	}
	if name = name[:i]; strings.EqualFold(name, "MSIE") {
		return ""
	}
	return name
}

// AtKill is how many of a host's last archived exchanges a crawl may have forgotten after a kill: the frontier's commit
// follows them. The archive does not show whether there was a kill between two files.
const AtKill = 2

// maxRateLimit bounds the field, in bytes. A longer one is not judged.
const maxRateLimit = 4096

// quota is the limit that the field sets.
type quota struct {
	Given bool
	Wait  time.Duration // the quota is exhausted for so long
	Space time.Duration // between two requests, so that the rest of the quota lasts
	Until time.Duration // how long space holds
}

// RateLimit reads the field (draft-ietf-httpapi-ratelimit-headers), a list of strings with parameters (RFC 9651): r is
// the rest of a quota, t the seconds until it is filled again. The longest times of all quotas hold, and more than a
// year is a day (docs/trust/politeness.md, rule 14). A field that is malformed anywhere is ignored.
func RateLimit(field string) (q quota) {
	if len(field) > maxRateLimit {
		return quota{}
	}
	list, err := httpsfv.UnmarshalList([]string{field})
	if err != nil {
		return quota{}
	}
	for _, m := range list {
		item, ok := m.(httpsfv.Item)
		if !ok {
			return quota{}
		}
		if _, ok = item.Value.(string); !ok {
			return quota{}
		}
		left, hasLeft := item.Params.Get("r")
		reset, hasReset := item.Params.Get("t")
		l, lok := left.(int64)
		t, tok := reset.(int64)
		if hasLeft && (!lok || l < 0) || hasReset && (!tok || t < 0) {
			return quota{}
		}
		if hasLeft && hasReset {
			q.add(l, t)
		}
	}
	return q
}

func (q *quota) add(left, reset int64) {
	t := day
	if reset <= int64(365*day/time.Second) {
		t = time.Duration(reset) * time.Second
	}
	q.Given = true
	switch {
	case left == 0:
		q.Wait = max(q.Wait, t)
	case t > 0:
		q.Space, q.Until = max(q.Space, t/time.Duration(left)), max(q.Until, t)
	}
}

const day = 24 * time.Hour

// Seconds reads a number of seconds. More than ten years are ten years.
func Seconds(s string) (time.Duration, bool) {
	const most = 10 * 365 * 24 * 60 * 60
	if s = strings.TrimSpace(s); s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil { // more digits than fit
		n = most
	}
	return time.Duration(min(n, most)) * time.Second, true
}

// Date reads a date in the three forms of RFC 9110 5.6.7.
func Date(s string) (time.Time, bool) {
	for _, form := range [...]string{"Mon, 02 Jan 2006 15:04:05 GMT", "Monday, 02-Jan-06 15:04:05 GMT", time.ANSIC} {
		if t, err := time.Parse(form, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
