package evidence

import (
	"strconv"
	"strings"
	"time"

	"github.com/dunglas/httpsfv"
)

// Told is what the audit was told, whatever the archive says.
type Told struct {
	Floor  time.Duration // the shortest pause between two exchanges of a host that is not the operator's own; zero for none
	Token  string        // the product token; "" for what the archive names
	Strict bool          // other crawlers are held to this crawler's promises, too
	Ledger bool          // a ledger of this crawler stands beside the archive
}

// Measure is what an exchange is judged by: what the archive declares of its making, and what the audit was told.
// Settings are believed when they bind the crawl more.
type Measure struct {
	Told

	Info *Info // the last warcinfo record before it; nil without one
}

// Ours reports whether the archive says that this crawler made it.
func (m Measure) Ours() bool { return m.Info != nil && m.Info.Ours }

// Promises reports whether the archive is held to this crawler's promises (docs/trust/politeness.md).
func (m Measure) Promises() bool { return m.Ours() || m.Strict }

// Declared is the product token that the audit or the archive names, or "".
func (m Measure) Declared() string {
	if m.Token != "" {
		return m.Token
	}
	if m.Info != nil && m.Info.Token != "" {
		return m.Info.Token
	}
	if m.Info != nil && !m.Info.Ours {
		return TokenOf(m.Info.Agent)
	}
	return ""
}

// Tokens are the product tokens that bind an exchange.
func (m Measure) Tokens(agent string) []string {
	t := m.Declared()
	if t == "" {
		t = TokenOf(agent)
	}
	if m.Ours() && !strings.EqualFold(t, OurToken) {
		if t == "" {
			return []string{OurToken}
		}
		return []string{t, OurToken}
	}
	return []string{t}
}

// Standards are the documents that bind the archive: an older one only adds refusals (docs/trust/politeness.md, rule 6).
func (m Measure) Standards() []string {
	if m.Info != nil && (m.Info.Standard == "draft1996" || m.Info.Standard == "std1994") {
		return []string{"rfc9309", m.Info.Standard}
	}
	return []string{"rfc9309"}
}

// Binding is whom the robots.txt files of the archive bind, and by which documents.
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

// AtKill is how many of a host's last exchanges a crawl may not know of after a kill, though they are archived: the
// frontier's commit comes after them. Whether there was one, between two files, the archive alone does not say.
const AtKill = 2

// maxRateLimit bounds what is read of the field, in bytes. A longer one is not judged.
const maxRateLimit = 4096

// quota is what the field asks for.
type quota struct {
	Given bool
	Wait  time.Duration // nothing is left for so long
	Space time.Duration // between two requests, so that what is left lasts
	Until time.Duration // how long space holds
}

// RateLimit reads the field (draft-ietf-httpapi-ratelimit-headers), a list of strings with parameters (RFC 9651): r is what
// is left of a quota, t the seconds until it is filled again. The longest times of all quotas hold, and more than a year
// is a day (docs/trust/politeness.md, rule 14). A field that is malformed anywhere asks for nothing.
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
