package crawler

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"

	"curtsy/crawler/budget"
	"curtsy/crawler/extract"
	"curtsy/crawler/fetch"
	"curtsy/frontier"
	"curtsy/robots"
	"curtsy/storage"
	"curtsy/storage/mediatype"
	"curtsy/storage/optout"
)

// Manners says which wishes a crawl met with, and which choices its operator made about them.
type Manners struct {
	OptOut    []optout.Version `json:"opt_out,omitempty"`          // the lists that were in force in this run
	Troubles  []string         `json:"opt_out_troubles,omitempty"` // lists on disk that could not take effect at the end
	OptedOut  int64            `json:"opted_out,omitempty"`        // URLs dropped because of them, over all runs
	NoIndex   int64            `json:"noindex,omitempty"`          // answers, over all runs
	NoArchive int64            `json:"noarchive,omitempty"`        // likewise
	Kept      bool             `json:"keep_noarchive"`             // Config.KeepNoArchive
	FollowRel string           `json:"follow_rel,omitempty"`       // Config.FollowRel
}

func (c *Crawl) manners(stats frontier.Stats) Manners {
	return Manners{
		OptOut: c.cfg.OptOut.Versions(), Troubles: c.cfg.OptOut.Troubles(),
		OptedOut: stats.Reasons[frontier.Dropped][reasonOptOut],
		NoIndex:  stats.Counts[budget.NoIndex], NoArchive: stats.Counts[budget.NoArchive],
		Kept: c.cfg.KeepNoArchive, FollowRel: strings.Join(c.cfg.FollowRel, ","),
	}
}

// directives reads what an answer asks of robots whose links are of no use: an error page is archived, too.
func (c *pageReader) directives(ctx context.Context, ex *fetch.Exchange) (extract.Directives, error) {
	in := extract.Input{
		URL: ex.URL, ContentType: mediatype.Value(ex.Header), Header: ex.Header, Token: c.cfg.Identity.Token,
	}
	if ex.Body != nil && ex.Undecoded == "" {
		in.Body = io.NewSectionReader(ex.Body, 0, ex.Body.Size())
	}
	return c.extract.Directives(ctx, in)
}

// noteDirectives notes what an answer asks for, and how it may be used (politeness rules 19, 20).
func (c *pageReader) noteDirectives(v *visit, ex *fetch.Exchange, asks extract.Directives, d *decision, f *findings) {
	d.asks, d.prefs = asks, usagePrefs(v.rules.Book, ex.Header)
	if asks.NoIndex {
		f.count(budget.NoIndex, 1)
	}
	if asks.NoArchive {
		f.count(budget.NoArchive, 1)
	}
	d.HeadOnly = asks.NoArchive && !c.cfg.KeepNoArchive
}

// nameEntry makes a line name the entry that decided.
func nameEntry(l *storage.Line, hit *optout.Hit) {
	l.RobotsLine, l.RobotsRule, l.List = hit.Line, hit.Text, hit.SHA256()
	if hit.Entry.Reason != "" {
		l.RobotsRule += " # " + hit.Entry.Reason
	}
}

// joinLines puts statements one on a line: what breaks lines in one of them becomes a space.
func joinLines(said []string) string {
	clean := make([]string, len(said))
	for i, s := range said {
		clean[i] = strings.NewReplacer("\n", " ", "\r", " ").Replace(s)
	}
	return strings.Join(clean, "\n")
}

// CheckFollowRel says what is wrong with a Config.FollowRel, or nil.
func CheckFollowRel(words []string) error {
	_, err := extract.ParseRels(words)
	return err
}

// Usage preferences are what robots.txt and an answer say about how content may be used. They are
// recorded and never guessed: nothing here knows what they mean (politeness rule 20).

// The bounds of what is kept of usage preferences.
const (
	maxPrefs    = 16  // statements
	maxPrefText = 256 // octets of a value
)

// prefFields are the fields that carry usage preferences: draft-ietf-aipref-attach, and the TDM Reservation Protocol of
// the W3C community group.
var prefFields = []string{"Content-Usage", "Tdm-Reservation", "Tdm-Policy"}

// pagePrefs are usage preferences as storage.Line keeps them.
type pagePrefs struct {
	said []string
	more int
}

// usagePrefs collects what robots.txt and the answer itself say.
func usagePrefs(book *robots.Rulebook, h http.Header) string {
	var p pagePrefs
	if book != nil {
		for _, policy := range book.Policies() {
			p.add("robots content-usage", policy.ContentUsage()...)
			p.add("robots content-signal", policy.ContentSignals()...)
			p.add("robots license", policy.Licenses()...) // Really Simple Licensing
		}
	}
	for _, name := range prefFields {
		if values := h.Values(name); len(values) > 0 {
			p.add("header "+strings.ToLower(name), values...)
		}
	}
	for _, value := range h.Values("Link") {
		for link := range licenseLinks(value) {
			if isLicense(link) {
				p.add("header link", link)
			}
		}
	}
	if p.more > 0 {
		p.said = append(p.said, "more: "+strconv.Itoa(p.more))
	}
	return strings.Join(p.said, "\n")
}

// add takes statements, each once: the policies of one robots.txt share its records.
func (p *pagePrefs) add(what string, values ...string) {
next:
	for _, v := range values {
		if len(v) > maxPrefText {
			v = strings.ToValidUTF8(v[:maxPrefText-len("…")], "") + "…"
		}
		s := what + ": " + strings.ReplaceAll(v, "\n", " ")
		for _, known := range p.said {
			if known == s {
				continue next
			}
		}
		if len(p.said) == maxPrefs {
			p.more++
			continue
		}
		p.said = append(p.said, s)
	}
}

// licenseLinks yields the links of a Link field (RFC 8288 3): commas part them, but not within <> and quotes.
func licenseLinks(value string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		begin := 0
		var within byte
		for i := 0; i < len(value); i++ {
			switch c := value[i]; {
			case within == '"' && c == '\\':
				i++
			case within != 0:
				if c == within {
					within = 0
				}
			case c == '<':
				within = '>'
			case c == '"':
				within = '"'
			case c == ',':
				if !yield(strings.TrimSpace(value[begin:i])) {
					return
				}
				begin = i + 1
			}
		}
		yield(strings.TrimSpace(value[begin:]))
	}
}

// isLicense reports whether a link's relation is license, or one of several is (RFC 8288 3.3; RFC 4946).
func isLicense(link string) bool {
	_, params, ok := strings.Cut(link, ">")
	if !ok || !strings.HasPrefix(link, "<") {
		return false
	}
	for params != "" {
		var param string
		param, params = cutParam(params)
		name, value, _ := strings.Cut(param, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "rel") {
			continue
		}
		for rel := range strings.FieldsSeq(strings.Trim(strings.TrimSpace(value), `"`)) {
			if strings.EqualFold(rel, "license") {
				return true
			}
		}
		return false // the first rel counts
	}
	return false
}

// cutParam splits off the first parameter, up to a semicolon that stands in no quotes.
func cutParam(s string) (param, rest string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == ';' && !quoted:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}
