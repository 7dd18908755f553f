package crawler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"curtsy/crawler/budget"
	"curtsy/crawler/extract"
	"curtsy/crawler/fetch"
	"curtsy/crawler/host"
	"curtsy/crawler/record"
	"curtsy/crawler/trap"
	"curtsy/frontier"
	"curtsy/robots"
	"curtsy/storage"
	"curtsy/storage/mediatype"
	"curtsy/storage/optout"
	"curtsy/storage/script"
)

type pageReader struct {
	cfg     *Config
	extract *extract.Extractor
	cpu     record.CPU
}

// digested is a page with its digest for the traps.
type digested struct {
	page  extract.Page
	says  *trap.Digester
	shape bool // says includes the shape
}

func (c *pageReader) input(task frontier.Task, ex *fetch.Exchange) extract.Input {
	return extract.Input{
		URL: task.URL, ContentType: mediatype.Value(ex.Header), Header: ex.Header, Previews: c.cfg.Previews,
		Body: io.NewSectionReader(ex.Body, 0, ex.Body.Size()), Size: ex.Body.Size(), Token: c.cfg.Identity.Token,
		Turn: true, // see turn
	}
}

// turn waits until a response may be read and its links held, until release (extract.Extractor.Turn). It comes before the wait
// for a processor, so that large pages do not keep others from it.
func (c *pageReader) turn(ctx context.Context, task frontier.Task, ex *fetch.Exchange) (release func(), err error) {
	if ex.Body == nil || ex.Body.Size() == 0 {
		return func() {}, nil
	}
	kind, err := c.readAs(task, ex)
	if err != nil || kind == 0 && !script.Is(mediatype.Of(ex.Header).Name, task.URL.Path()) {
		return func() {}, err
	}
	if release, err = c.extract.Turn(ctx, ex.Body.Size()); err != nil {
		return nil, fmt.Errorf("crawler: read %s: %w", task.URL, err)
	}
	return release, nil
}

func (c *pageReader) read(ctx context.Context, in extract.Input, shape bool) (digested, error) {
	if err := c.cpu.Acquire(ctx); err != nil {
		return digested{}, fmt.Errorf("crawler: read %s: %w", in.URL, err)
	}
	defer c.cpu.Release()
	says := trap.NewDigester(in.URL, shape)
	in.Text = says.Text
	page, err := c.extract.HTML(ctx, in)
	return digested{page, says, shape}, err
}

// readAs returns the kind of document of a response; zero is not read.
func (c *pageReader) readAs(task frontier.Task, ex *fetch.Exchange) (extract.Kind, error) {
	var first [512]byte
	n, err := ex.Body.ReadAt(first[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("crawler: read the body of %s: %w", ex.URL, err)
	}
	return c.cfg.Follow.KindOf(mediatype.Value(ex.Header), task.URL.Path(), first[:n]), nil
}

// ahead reads a page in parallel before its exchange is handled, unless it is so large that it needs its own turn. Nil means
// that it is read later: it may not be a page, or an error occurred, which then occurs again and is reported.
func (c *pageReader) ahead(ctx context.Context, task frontier.Task, ex *fetch.Exchange, shape bool) (r *digested) {
	defer func() {
		if recover() != nil {
			r = nil
		}
	}()
	a, _ := host.Classify(ex)
	if a != host.Answered || task.Kind == frontier.KindMap || ex.Body == nil || ex.Undecoded != "" || ex.Body.Size() > extract.MaxParse/2 {
		return nil
	}
	if kind, err := c.readAs(task, ex); err != nil || kind != extract.KindPage {
		return nil
	}
	release, err := c.turn(ctx, task, ex)
	if err != nil {
		return nil
	}
	defer release()
	read, err := c.read(ctx, c.input(task, ex), shape)
	if err != nil {
		return nil
	}
	return &read
}

// watched reports whether the shape of a task's page counts.
func (v *visit) watched(task frontier.Task, limits trap.Limits) bool {
	return v.history.Watches(task.URL, limits)
}

// digest adds a page to the history, and reports whether it is a copy whose links are dropped.
func (v *visit) digest(task frontier.Task, read digested, limits trap.Limits) (copied bool) {
	for _, l := range read.page.Links {
		if l.Shown() {
			read.says.Embed(l.URL)
		}
	}
	text, shape := read.says.Digests()
	v.text = text
	v.history.Brought(task.URL, shape, limits)
	copies := v.history.Copies(task.Via, text)
	switch {
	case len(read.page.Links) == 0:
		return false
	case limits.Drops(copies):
		return true
	case limits.Copies():
		v.history.Leads(task.URL, text, copies)
	}
	return false
}

// undigested adds a response that is not readable HTML to the history.
func (v *visit) undigested(task frontier.Task, ex *fetch.Exchange, limits trap.Limits) {
	v.history.Brought(task.URL, trap.Shape(ex.PayloadDigest[:]), limits)
}

// Manners are the wishes of sites in a crawl, and the operator's choices about them.
type Manners struct {
	OptOut    []optout.Version `json:"opt_out,omitempty"`          // the lists in force in this run
	Troubles  []string         `json:"opt_out_troubles,omitempty"` // lists on disk that could not take effect
	OptedOut  int64            `json:"opted_out,omitempty"`        // dropped URLs, over all runs
	NoIndex   int64            `json:"noindex,omitempty"`          // responses, over all runs
	NoArchive int64            `json:"noarchive,omitempty"`        // responses, over all runs
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

// directives reads the directives of a response whose links do not count, such as an error page.
func (c *pageReader) directives(ctx context.Context, ex *fetch.Exchange) (extract.Directives, error) {
	in := extract.Input{
		URL: ex.URL, ContentType: mediatype.Value(ex.Header), Header: ex.Header, Token: c.cfg.Identity.Token,
	}
	if ex.Body != nil && ex.Undecoded == "" {
		in.Body = io.NewSectionReader(ex.Body, 0, ex.Body.Size())
	}
	return c.extract.Directives(ctx, in)
}

// noteDirectives records directives and usage preferences (politeness rules 19, 20).
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

func nameEntry(l *storage.Line, hit *optout.Hit) {
	l.RobotsLine, l.RobotsRule, l.List = hit.Line, hit.Text, hit.SHA256()
	if hit.Entry.Reason != "" {
		l.RobotsRule += " # " + hit.Entry.Reason
	}
}

// joinLines puts each statement on a separate line.
func joinLines(said []string) string {
	clean := make([]string, len(said))
	for i, s := range said {
		clean[i] = strings.NewReplacer("\n", " ", "\r", " ").Replace(s)
	}
	return strings.Join(clean, "\n")
}

// CheckFollowRel rejects an invalid Config.FollowRel.
func CheckFollowRel(words []string) error {
	_, err := extract.ParseRels(words)
	return err
}

const (
	maxPrefs    = 16  // usage preferences of a response
	maxPrefText = 256 // bytes of a value
)

// prefFields are the fields of draft-ietf-aipref-attach, and of the TDM Reservation Protocol of the W3C community group.
var prefFields = []string{"Content-Usage", "Tdm-Reservation", "Tdm-Policy"}

// pagePrefs are usage preferences for storage.Line.
type pagePrefs struct {
	said []string
	more int
}

// usagePrefs returns the usage preferences of robots.txt and a response, without interpretation (politeness rule 20).
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

// add adds statements, each once, since the policies of one robots.txt share its records.
func (p *pagePrefs) add(what string, values ...string) {
	for _, v := range values {
		if len(v) > maxPrefText {
			v = strings.ToValidUTF8(v[:maxPrefText-len("…")], "") + "…"
		}
		switch s := what + ": " + strings.ReplaceAll(v, "\n", " "); {
		case slices.Contains(p.said, s):
		case len(p.said) == maxPrefs:
			p.more++
		default:
			p.said = append(p.said, s)
		}
	}
}

// licenseLinks yields the links of a Link field (RFC 8288 3), separated by commas outside <> and quotes.
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

// isLicense reports whether license is among the relations of a link (RFC 8288 3.3; RFC 4946).
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

// cutParam splits off the first parameter, up to a semicolon outside quotes.
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
