package cbcp

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// Judge gathers what the clauses are judged by. It is a witness of one audit, after which Conclude gives the Result.
type Judge struct {
	files []string
	facts facts
}

// New returns a Judge of the audit of files, and of what is published.
func New(files []string, p Published) *Judge {
	return &Judge{files: files, facts: facts{published: p, agents: map[string]*agent{}, servers: map[string]*server{},
		seed: maphash.MakeSeed(), visits: map[uint64]visit{},
		heads: heads{stored: map[uint64]stored{}, unfollowed: map[uint64]bool{}}}}
}

// facts are what the checks go by.
type facts struct {
	seed maphash.Seed

	exchanges, requests, answered int64
	agents                        map[string]*agent // User-Agents as sent, of requests
	agentless                     int64
	hours                         [24]int64 // exchanges, by the hour they began in, UTC
	byResponse                    int64     // pauses that the response time decided
	depths                        int64     // exchanges whose depth is known
	deepest                       int

	servers  map[string]*server // by authority
	failures int64              // answers of 429 and 5xx
	pressed  []Example          // where the crawl went on as before

	visits map[uint64]visit // by URL
	lost   int64            // exchanges with URLs behind the bound
	most   Example
	mostN  int32
	soon   []Example // asked for again too soon
	again  int64     // exchanges with a URL that had a usable answer

	published Published

	heads
}

// agent is a User-Agent and where it was sent first.
type agent struct {
	n     int64
	first Example
}

// The bounds of what is kept: different User-Agents, and URLs.
const (
	maxAgents = 256
	maxURLs   = 1 << 20
)

// Exchange implements audit.Witness.
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
	return nil
}

// named notes who asks.
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

// at is an exchange as an example.
func at(e *evidence.Exchange, observed string) Example {
	return Example{Place: e.Place, URL: finding.Short(e.URL), Time: e.Began, Observed: observed}
}

// add keeps an example while there are few.
func add(to *[]Example, e Example) {
	if len(*to) < maxExamples {
		*to = append(*to, e)
	}
}

// Refused implements audit.Witness.
func (j *Judge) Refused(context.Context, *storage.Line, finding.Place, finding.Report) error {
	return nil
}

// Info implements audit.Witness.
func (j *Judge) Info(_ context.Context, in *evidence.Info, _ finding.Report) error {
	if in.Token != "" {
		j.facts.tokens = appendNew(j.facts.tokens, in.Token)
	}
	return nil
}

// Close implements audit.Witness.
func (j *Judge) Close(context.Context, *audit.Result, finding.Report) error { return nil }

// visit is how often a URL was asked for.
type visit struct {
	n     int32
	had   int64 // when the last usable answer that began a day came, in microseconds of Unix; 0 for none
	since int32 // exchanges since, within a day
}

const (
	oftenMax = 2  // exchanges with a URL in the day behind a usable answer
	loopMax  = 20 // exchanges with a URL in all: browsers give up a redirect so, too
)

// key stands for a URL in memory.
func (f *facts) key(url string) uint64 { return maphash.String(f.seed, url) }

// usable reports whether there is nothing more to get: another request brings the same.
func usable(e *evidence.Exchange) bool {
	return e.Answered && e.Cut == "" && (e.Status >= 200 && e.Status <= 299 || e.Status == 304)
}

// visit counts an exchange with a URL.
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
	day := v.had != 0 && now-v.had < (24*time.Hour).Microseconds()
	if v.had != 0 {
		f.again++
	}
	if day {
		if v.since++; v.since == oftenMax+1 && !e.Own { // whose owner agrees
			add(&f.soon, at(e, fmt.Sprintf("requested %d times in %v after a usable response", v.since,
				time.Duration(now-v.had)*time.Microsecond)))
		}
	} else if usable(e) {
		v.had, v.since = now, 0
	}
	f.visits[k] = v
}

// server is how an authority fared, and how the crawl took that.
type server struct {
	end     time.Time     // of the last exchange
	pauses  time.Duration // the sum of those behind answers that were no failure
	n       int64         // of these
	streak  int           // failures in a row
	pressed bool          // the crawl went on as before: said once of a streak
}

const (
	streakMin = 3               // failures in a row that ask for a reaction
	longPause = time.Minute     // one that is so long is a reaction, or needs none
	unhurried = 5 * time.Second // the usual pause of a server that never answered without failure
)

// failed reports whether a status says that the server fails, or is asked too much (RFC 9110 15.6, RFC 6585 4).
func failed(status int) bool { return status == 429 || status >= 500 && status <= 599 }

// server follows an authority through an exchange.
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
		s.streak, s.pressed = 0, false
		return
	}
	f.failures++
	s.streak++
}

// paused takes the pause before an exchange.
func (s *server) paused(f *facts, e *evidence.Exchange, pause time.Duration) {
	if s.streak == 0 {
		s.pauses, s.n = s.pauses+pause, s.n+1
		return
	}
	usual := unhurried
	if s.n > 0 {
		usual = s.pauses / time.Duration(s.n)
	}
	if s.streak < streakMin || e.Own || s.pressed || pause >= longPause || pause > usual+usual/5 {
		return
	}
	s.pressed = true
	add(&f.pressed, at(e, fmt.Sprintf("%v after %d responses of 429 or 5xx in a row, where %v was usual",
		pause.Round(time.Millisecond), s.streak, usual.Round(time.Millisecond))))
}

// common are names of libraries and tools: without an address beside them, a User-Agent with one could be anybody's.
var common = strings.Fields(`aiohttp apache-httpclient axios colly curl dart deno go-http-client guzzlehttp heritrix
	http_request2 httpx java lavf libwww-perl lwp node node-fetch nutch okhttp php postmanruntime puppeteer python
	python-httpx python-requests python-urllib reqwest ruby scrapy undici urllib wget winhttp`)

// taken are names of well-known crawlers and the domains of their pages: nobody else may use them.
var taken = map[string]string{
	"ahrefsbot": "ahrefs.com", "amazonbot": "amazon.com", "applebot": "apple.com", "archive_org_bot": "archive.org",
	"baiduspider": "baidu.com", "bingbot": "bing.com", "bytespider": "bytedance.com", "ccbot": "commoncrawl.org",
	"claudebot": "anthropic.com", "duckduckbot": "duckduckgo.com", "facebookexternalhit": "facebook.com",
	"googlebot": "google.com", "gptbot": "openai.com", "mojeekbot": "mojeek.com", "petalbot": "aspiegel.com",
	"perplexitybot": "perplexity.ai", "semrushbot": "semrush.com", "yandexbot": "yandex.com",
}

// urlIn is the first http or https URL in a User-Agent, or "".
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

// anonymous says why a User-Agent's identifiers may be those of another crawler, or "".
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

// of reports whether a URL's host is a domain, or below it.
func of(url, domain string) bool {
	u, err := evidence.ParseURL(url)
	if err != nil {
		return false
	}
	host, _ := evidence.HostPort(u.Authority)
	return host == domain || strings.HasSuffix(host, "."+domain)
}
