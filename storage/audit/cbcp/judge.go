package cbcp

import (
	"context"
	"fmt"
	"hash/maphash"
	"net/http"
	"slices"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// Judge gathers the facts for the clauses. It is a witness of one audit, after which Conclude gives the Result.
type Judge struct {
	audit.Silent

	facts facts
}

func New(p Published) *Judge {
	return &Judge{facts: facts{published: p, agents: map[string]*agent{}, servers: map[string]*server{},
		seed: maphash.MakeSeed(), visits: map[uint64]visit{},
		heads: heads{stored: map[uint64]copyOf{}, unfollowed: map[uint64]bool{}}}}
}

type facts struct {
	seed maphash.Seed

	exchanges, requests, answered int64
	agents                        map[string]*agent // User-Agents as sent, of requests
	agentless                     int64
	hours                         [24]int64 // exchanges, by the hour they began in, UTC
	byResponse                    int64     // pauses that the response time decided
	depths                        int64     // exchanges whose depth is known
	deepest                       int

	servers   map[string]*server // by authority
	failures  int64              // answers of 429 and 5xx
	overloads []Example          // where the crawl did not slow down

	visits map[uint64]visit // by URL
	lost   int64            // exchanges with URLs beyond the bound
	most   Example
	mostN  int32
	soon   []Example // requested again too soon
	again  int64     // exchanges with a URL that had a usable answer

	published Published

	heads
}

type agent struct {
	n     int64
	first Example
}

const (
	maxAgents = 256
	maxURLs   = 1 << 20
)

func (j *Judge) Exchange(_ context.Context, e *evidence.Exchange, _ finding.Report) error {
	f := &j.facts
	f.exchanges++
	if e.Answered {
		f.answered++
	}
	if !e.Began.IsZero() {
		f.hours[e.Began.UTC().Hour()]++
	}
	if e.Request != (finding.Place{}) {
		f.requests++
		f.named(e)
	}
	if l := e.Line; l != nil {
		if l.PaceBy == storage.ByResponseTime {
			f.byResponse++
		}
		if l.Kind != "" {
			f.depths++
			f.deepest = max(f.deepest, l.Depth)
		}
	}
	f.server(e)
	if !e.Robots {
		f.visit(e)
	}
	f.head(e)
	return nil
}

func (f *facts) named(e *evidence.Exchange) {
	if e.Agent == "" {
		f.agentless++
		return
	}
	a := f.agents[e.Agent]
	if a == nil {
		if len(f.agents) == maxAgents {
			return
		}
		a = &agent{first: at(e, "User-Agent: "+e.Agent)}
		a.first.Place = e.Request
		f.agents[e.Agent] = a
	}
	a.n++
}

func at(e *evidence.Exchange, observed string) Example {
	return Example{Place: e.Place, URL: finding.Short(e.URL), Time: e.Began, Observed: observed}
}

func add(to *[]Example, e Example) {
	if len(*to) < maxExamples {
		*to = append(*to, e)
	}
}

func (j *Judge) Info(_ context.Context, in *evidence.Info, _ finding.Report) error {
	j.facts.tokens = appendNew(j.facts.tokens, in.Token)
	return nil
}

type visit struct {
	n        int32
	usableAt int64 // when the last usable answer that began a day came, in microseconds of Unix; 0 for none
	since    int32 // exchanges since, within a day
}

const (
	oftenMax = 2  // exchanges with a URL in the day after a usable answer
	loopMax  = 20 // exchanges with a URL in all: browsers give up redirects after as many
)

func (f *facts) key(url string) uint64 { return maphash.String(f.seed, url) }

// usable reports whether another request would return nothing new.
func usable(e *evidence.Exchange) bool {
	return e.Answered && e.Cut == "" && (e.Status >= 200 && e.Status <= 299 || e.Status == 304)
}

func (f *facts) visit(e *evidence.Exchange) {
	k := f.key(e.URL)
	v, known := f.visits[k]
	if !known && len(f.visits) >= maxURLs {
		f.lost++
		return
	}
	v.n++
	if v.n > f.mostN {
		f.mostN, f.most = v.n, at(e, fmt.Sprintf("requested %d times", v.n))
	}
	now := e.Began.UnixMicro()
	day := v.usableAt != 0 && now-v.usableAt < (24*time.Hour).Microseconds()
	if v.usableAt != 0 {
		f.again++
	}
	if day {
		if v.since++; v.since == oftenMax+1 && !e.Own { // the owner agrees
			add(&f.soon, at(e, fmt.Sprintf("requested %d times in %v after a usable response", v.since,
				time.Duration(now-v.usableAt)*time.Microsecond)))
		}
	} else if usable(e) {
		v.usableAt, v.since = now, 0
	}
	f.visits[k] = v
}

// server is how a server fared, and how the crawl reacted.
type server struct {
	end        time.Time     // of the last exchange
	pauses     time.Duration // the sum of those after answers without failure
	n          int64         // of these
	streak     int           // failures in a row
	isReported bool          // the crawl did not slow down: reported once per streak
}

const (
	streakMin = 3               // failures in a row that require a reaction
	longPause = time.Minute     // one that is so long is a reaction, or needs none
	unhurried = 5 * time.Second // the usual pause of a server that never answered without failure
)

// failed reports whether a status reports a failing or overloaded server (RFC 9110 15.6, RFC 6585 4).
func failed(status int) bool { return status == 429 || status >= 500 && status <= 599 }

func (f *facts) server(e *evidence.Exchange) {
	if e.Authority == "" || e.Began.IsZero() {
		return
	}
	s := f.servers[e.Authority]
	if s == nil {
		s = &server{}
		f.servers[e.Authority] = s
	}
	if pause := e.Began.Add(e.Resolution).Sub(s.end); !s.end.IsZero() && pause >= 0 {
		s.paused(f, e, pause)
	}
	s.end = e.End()
	if !e.Answered || !failed(e.Status) {
		s.streak, s.isReported = 0, false
		return
	}
	f.failures++
	s.streak++
}

func (s *server) paused(f *facts, e *evidence.Exchange, pause time.Duration) {
	if s.streak == 0 {
		s.pauses, s.n = s.pauses+pause, s.n+1
		return
	}
	usual := unhurried
	if s.n > 0 {
		usual = s.pauses / time.Duration(s.n)
	}
	if s.streak < streakMin || e.Own || s.isReported || pause >= longPause || pause > usual+usual/5 {
		return
	}
	s.isReported = true
	add(&f.overloads, at(e, fmt.Sprintf("%v after %d responses of 429 or 5xx in a row, where %v was usual",
		pause.Round(time.Millisecond), s.streak, usual.Round(time.Millisecond))))
}

// common are names of libraries and tools: without an address, such a User-Agent does not identify a crawler.
var common = strings.Fields(`aiohttp apache-httpclient axios colly curl dart deno go-http-client guzzlehttp heritrix
	http_request2 httpx java lavf libwww-perl lwp node node-fetch nutch okhttp php postmanruntime puppeteer python
	python-httpx python-requests python-urllib reqwest ruby scrapy undici urllib wget winhttp`)

// taken are names of well-known crawlers and the domains of their pages: no other crawler may use them.
var taken = map[string]string{
	"ahrefsbot": "ahrefs.com", "amazonbot": "amazon.com", "applebot": "apple.com", "archive_org_bot": "archive.org",
	"baiduspider": "baidu.com", "bingbot": "bing.com", "bytespider": "bytedance.com", "ccbot": "commoncrawl.org",
	"claudebot": "anthropic.com", "duckduckbot": "duckduckgo.com", "facebookexternalhit": "facebook.com",
	"googlebot": "google.com", "gptbot": "openai.com", "mojeekbot": "mojeek.com", "petalbot": "aspiegel.com",
	"perplexitybot": "perplexity.ai", "semrushbot": "semrush.com", "yandexbot": "yandex.com",
}

func urlIn(agent string) string {
	low := strings.ToLower(agent)
	i := strings.Index(low, "http://")
	if j := strings.Index(low, "https://"); i < 0 || j >= 0 && j < i {
		i = j
	}
	if i < 0 {
		return ""
	}
	url := agent[i:]
	if end := strings.IndexAny(url, " ;,)>\"'"); end >= 0 {
		url = url[:end]
	}
	return url
}

// anonymous returns why the names in a User-Agent may be another crawler's; "" if they are not.
func anonymous(agent string) string {
	token := evidence.TokenOf(agent)
	owner, known := taken[strings.ToLower(token)]
	switch {
	case token == "":
		return "it has no product token of a crawler"
	case known && !of(urlIn(agent), owner):
		return token + " is the name of another crawler, that of " + owner
	case slices.Contains(common, strings.ToLower(token)) && urlIn(agent) == "" && !strings.Contains(agent, "@"):
		return token + " is a common library or tool, without an address beside it"
	}
	return ""
}

func of(url, domain string) bool {
	u, err := evidence.ParseURL(url)
	if err != nil {
		return false
	}
	host, _ := evidence.HostPort(u.Authority)
	return host == domain || strings.HasSuffix(host, "."+domain)
}

type heads struct {
	tokens []string // of the crawl, in lower case: those that X-Robots-Tag may name

	tagged     int64 // answers with an X-Robots-Tag for the crawl
	keptBodies []Example
	unfollowed map[uint64]bool // pages, by URL, whose links are not to be followed
	followed   []Example

	secrets []Example // requests with credentials
	nSecret int64
	cookies int64 // requests with a Cookie

	stored      map[uint64]copyOf // answers that could be used again, by URL
	repeats     int64             // requests for such
	conditional int64             // of these
	wasted      []Example         // of these, those that a cache would have spared
	nWasted     int64
}

func appendNew(to []string, token string) []string {
	if token = strings.ToLower(token); token == "" || slices.Contains(to, token) {
		return to
	}
	return append(to, token)
}

func (f *facts) head(e *evidence.Exchange) {
	f.tokens = appendNew(f.tokens, evidence.TokenOf(e.Agent))
	if e.Sent.Has("authorization") || e.Sent.Has("proxy-authorization") {
		f.nSecret++
		add(&f.secrets, atRequest(e, "a request with credentials"))
	}
	if e.Sent.Has("cookie") {
		f.cookies++
	}
	f.repeat(e)
	if e.Status != 0 {
		f.tags(e)
		f.store(e)
	}
	f.link(e)
}

func atRequest(e *evidence.Exchange, observed string) Example {
	x := at(e, observed)
	x.Place = e.Request
	return x
}

func (f *facts) link(e *evidence.Exchange) {
	l := e.Line
	if l == nil || !f.unfollowed[f.key(l.Via)] {
		return
	}
	if l.Kind == storage.KindLink || strings.HasSuffix(e.Hops, "L") {
		x := at(e, "a link was followed from "+l.Via+", whose X-Robots-Tag has nofollow or none")
		x.Place = e.LineAt
		add(&f.followed, x)
	}
}

// wishes are the directives of an X-Robots-Tag, as far as an archive can show whether they were obeyed.
type wishes struct{ noarchive, nofollow, other bool }

// colons are the directives with a value: the text before their colon is not a crawler's name.
var colons = []string{"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}

// read takes a field. The rest after a name with a colon is for that crawler; a field without one is for everyone.
func (w *wishes) read(value string, tokens []string) {
	if name, rest, ok := strings.Cut(value, ":"); ok && !strings.ContainsAny(name, ", ") {
		name = strings.ToLower(strings.TrimSpace(name))
		switch {
		case slices.Contains(colons, name):
		case name == "robots" || name == "*" || slices.Contains(tokens, name):
			value = rest
		default:
			return
		}
	}
	for d := range strings.SplitSeq(strings.ToLower(value), ",") {
		switch strings.TrimSpace(d) {
		case "noarchive":
			w.noarchive = true
		case "nofollow", "none":
			w.nofollow = true
		case "", "all":
		default:
			w.other = true // noindex and others bind the user of the archive
		}
	}
}

func (f *facts) tags(e *evidence.Exchange) {
	var w wishes
	for _, v := range e.Answer.RobotsTags {
		w.read(v, f.tokens)
	}
	k := f.key(e.URL)
	if !w.nofollow {
		delete(f.unfollowed, k)
	} else if len(f.unfollowed) < maxURLs {
		f.unfollowed[k] = true
	}
	if w == (wishes{}) {
		return
	}
	f.tagged++
	if w.noarchive && e.Status == http.StatusOK && !e.Bodyless && e.Body > 0 {
		add(&f.keptBodies, at(e, "the body is archived, and X-Robots-Tag has noarchive"))
	}
}

// copyOf is a cache's last storable response to a URL; zero if it has none.
type copyOf struct {
	at        int64 // when it was requested, in microseconds of Unix
	fresh     int64 // until when it need not be requested again; 0 if the answer has no lifetime
	validator bool  // a conditional request can be made of it
}

// store takes a response if it may be stored: complete and not forbidden (RFC 9111 3).
func (f *facts) store(e *evidence.Exchange) {
	k, status := f.key(e.URL), e.Status
	last, known := f.stored[k]
	now := e.Began.UnixMicro()
	if e.Began.IsZero() || known && now < last.at || !known && len(f.stored) >= maxURLs {
		return
	}
	c := copyOf{at: now, validator: e.Answer.ETag || len(e.Answer.LastModified) > 0}
	if status == http.StatusNotModified { // RFC 9111 4.3.4: the stored response is renewed
		c.validator = c.validator || last.validator
		status = http.StatusOK
	}
	control := directives(e.Answer.CacheControl)
	_, never := control["no-store"]
	star := strings.TrimSpace(strings.Join(e.Answer.Vary, ",")) == "*"
	if e.Cut != "" || never || star || status != http.StatusOK && status != http.StatusNonAuthoritativeInfo {
		delete(f.stored, k)
		return
	}
	if _, always := control["no-cache"]; !always {
		c.fresh = now + lifetime(&e.Answer, control).Microseconds()
	}
	f.stored[k] = c
}

// directives reads Cache-Control (RFC 9111 5.2). The first of a name counts.
func directives(values []string) map[string]string {
	all := map[string]string{}
	for _, v := range values {
		for d := range strings.SplitSeq(v, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(d), "=")
			if name = strings.ToLower(name); all[name] == "" {
				all[name] = strings.Trim(value, `"`)
			}
		}
	}
	return all
}

// maxLife bounds freshness: RFC 9111 1.2.2 allows more than is useful.
const maxLife = 365 * 24 * time.Hour

// lifetime is how long a response is fresh (RFC 9111 4.2.1, 4.2.3). Invalid values are stale; heuristics (4.2.2) do not count.
func lifetime(a *evidence.AnswerHead, control map[string]string) (life time.Duration) {
	if v, ok := control["max-age"]; ok {
		life, _ = evidence.Seconds(v)
	} else if until, ok := evidence.Date(a.Expires.Value); ok {
		if date, ok := evidence.Date(a.Date.Value); ok {
			life = until.Sub(date)
		}
	}
	age, _ := evidence.Seconds(a.Age.Value)
	return max(0, min(life, maxLife)-age)
}

// repeat checks whether a stored response makes a request unnecessary, or would have made it conditional.
func (f *facts) repeat(e *evidence.Exchange) {
	c, known := f.stored[f.key(e.URL)]
	now := e.Began.UnixMicro()
	if !known || e.Began.IsZero() || c.at >= now || e.Method != http.MethodGet || e.Robots || e.Sent.Ranged {
		return
	}
	f.repeats++
	text := "requested again although the response of " + clock(c.at) + " was fresh until " + clock(c.fresh)
	switch {
	case e.Sent.Conditional:
		f.conditional++
		return
	case now < c.fresh:
	case c.validator:
		text = "requested again without the validator of the response of " + clock(c.at)
	default:
		return
	}
	f.nWasted++
	add(&f.wasted, atRequest(e, text))
}

func clock(micros int64) string { return time.UnixMicro(micros).UTC().Format("2006-01-02T15:04:05Z") }
