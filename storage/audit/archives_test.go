package audit

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/audit/evidence"
)

const (
	siteName = "bakery.test"
	site     = "https://" + siteName
	closedX  = "User-agent: *\nDisallow: /x/\n"
	rule     = "User-agent: *\nDisallow: /private\nAllow: /private/open\n"
	// toldOpen is a crawl's record of the verdict on /private/open by it.
	toldOpen = "robotsLine: 3\r\nrobotsRule: Allow: /private/open\r\nrobotsGroup: *\r\nrobotsRunnerUp: Disallow: /private\r\n"
	// fetched is a crawl's record of a page that it read to its end.
	fetched = "decision: allow\r\noutcome: fetched\r\nstatus: 200"
	s       = time.Second
)

func (a *archive) robots(body string) { a.add(fetch{url: site + "/robots.txt", body: body}) }

//go:embed testdata/archives.txt
var archives string

type judged struct {
	who, name, codes string
	options, steps   [][]string // words
}

func judgedArchives(t testing.TB) (all []judged) {
	t.Helper()
	for line := range strings.Lines(archives) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		part := strings.SplitN(strings.TrimSuffix(line, "\n"), " | ", 5)
		require.GreaterOrEqualf(t, len(part), 5, "%q has no five columns", line)
		for i := range part {
			if part[i] == "-" {
				part[i] = ""
			}
		}
		all = append(all, judged{part[0], part[1], part[3], words(t, part[2]), words(t, part[4])})
	}
	return all
}

var constants = strings.NewReplacer("$rule", rule, "$closedX", closedX, "$toldOpen", strings.TrimSuffix(toldOpen, "\r\n"), "$sha(rule)", sha(rule), "$sha(x)", sha("x"),
	"$lantern", lantern, "$fetched", fetched, "$proof", "curtsy-owner="+sha("v"), "$gzip(rule)", zipped(rule), "$many", strings.Repeat("#\n", evidence.Enough/2),
	"$long", strings.Repeat("# "+strings.Repeat("x", 1021)+"\n", 499), "$tail", strings.Repeat("# y\n", 1<<18))

// words splits steps at semicolons into words, in which strings of Go may stand.
func words(t testing.TB, s string) (all [][]string) {
	t.Helper()
	var step []string
	for s = strings.TrimSpace(s); s != ""; s = strings.TrimLeft(s, " ") {
		if s[0] == ';' {
			all, step, s = append(all, step), nil, s[1:]
			continue
		}
		word := ""
		for s != "" && s[0] != ' ' && s[0] != ';' {
			if s[0] != '"' && s[0] != '`' {
				word, s = word+s[:1], s[1:]
				continue
			}
			quoted, err := strconv.QuotedPrefix(s)
			require.NoError(t, err, s)
			text, _ := strconv.Unquote(quoted)
			word, s = word+text, s[len(quoted):]
		}
		step = append(step, constants.Replace(word))
	}
	return append(all, step)
}

var names = strings.Fields("- info floor token ours whole unprovable kind extra block request status alone took head body method agent meta host ip")

func values(t testing.TB, words []string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		require.Containsf(t, names, name, "%s: the names", w)
		all[name] = value
	}
	return all
}

func lengthOf(t testing.TB, s string) time.Duration {
	t.Helper()
	if s == "" {
		return 0
	}
	d, err := time.ParseDuration(s)
	require.NoError(t, err)
	return d
}

func (c judged) made(t testing.TB) (*archive, Options) {
	t.Helper()
	opts := values(t, c.options[0])
	info := opts["info"]
	a := foreign(t)
	switch {
	case c.who == "ours" && info != "":
		a = ours(t, info)
	case c.who == "ours":
		a = ours(t)
	case info != "":
		a.record("warcinfo", "", day0, "Content-Type: application/warc-fields", "software: Otherbot/2\r\n"+info+"\r\n")
	}
	if _, whole := opts["whole"]; whole { // seconds
		a.form = "2006-01-02T15:04:05Z"
	}
	for _, w := range c.steps {
		a.step(w)
	}
	_, of := opts["ours"]
	return a, Options{Floor: lengthOf(t, opts["floor"]), Token: opts["token"], Ours: of}
}

// step adds an exchange: URL (which may begin with a path), @ and its begin, and fields of fetch. A verb before it adds a
// record, one without its exchange, an exchange of this request, or robots.txt of so many hosts.
func (a *archive) step(w []string) {
	a.t.Helper()
	verb := ""
	switch w[0] {
	case "record", "kept", "sends", "hosts":
		verb, w = w[0], w[1:]
	}
	if verb == "hosts" {
		n, _ := strconv.Atoi(w[0])
		for i := range n {
			a.add(fetch{url: fmt.Sprintf("https://h%d.test/robots.txt", i), at: time.Duration(i) * lengthOf(a.t, w[1]), ip: w[2]})
		}
		return
	}
	url := w[0]
	switch {
	case url == "-":
		url = ""
	case strings.HasPrefix(url, "/"):
		url = site + url
	}
	var at time.Duration
	if w = w[1:]; len(w) > 0 && strings.HasPrefix(w[0], "@") {
		at, w = lengthOf(a.t, w[0][1:]), w[1:]
	}
	v := values(a.t, w)
	lines := func(name string) string {
		if text := v[name]; text != "" && text != "none" {
			return text + "\r\n"
		}
		return v[name]
	}
	switch verb {
	case "record":
		a.record(v["kind"], url, day0.Add(at), v["extra"], v["block"])
	case "kept":
		a.isolated(v["kind"], url, at, v["extra"])
	case "sends":
		a.sends(url, at, v["request"])
	default:
		status, _ := strconv.Atoi(v["status"])
		_, alone := v["alone"]
		a.add(fetch{url: url, at: at, took: lengthOf(a.t, v["took"]), status: status, head: lines("head"), body: v["body"], method: v["method"], agent: v["agent"],
			meta: lines("meta"), noReq: alone, request: v["request"], host: v["host"], extra: v["extra"], ip: v["ip"]})
	}
}

// The promises of this crawler bind others only if the audit is set to that.
func TestEachArchiveIsJudged(t *testing.T) {
	for _, c := range judgedArchives(t) {
		t.Run(c.who+"/"+c.name, func(t *testing.T) {
			a, o := c.made(t)
			if c.who == "strict" {
				written := a.b.String()
				r := a.audit(o)
				named := codes(r) == "credentials" && r.Totals.Notes > 0
				assert.Truef(t, r.Clean && named == (c.codes == "credentials"), "by the standards: found %q%s", codes(r), shown(r))
				a.b.Reset()
				a.b.WriteString(written)
				o.Strict = true
			}
			r := a.audit(o)
			got := codes(r)
			if r.Clean && got != "" {
				got = "(" + got + ")" // only notes
			}
			assert.Equal(t, c.codes, got, shown(r))
			_, want := values(t, c.options[0])["unprovable"]
			assert.Equalf(t, want, r.Totals.Unprovable > 0, "%d are unprovable%s", r.Totals.Unprovable, shown(r))
		})
	}
}

func (a *archive) isolated(kind, url string, at time.Duration, extra string) string {
	if extra != "" {
		extra = "\r\n" + extra
	}
	return a.record(kind, url, day0.Add(at), "Content-Type: text/html"+extra, "<p>kept")
}

func (a *archive) sends(url string, at time.Duration, request string) {
	id := a.record("response", url, day0.Add(at), "Content-Type: application/http; msgtype=response", "HTTP/1.1 200 X\r\n\r\n<p>")
	a.record("request", url, day0.Add(at), "Content-Type: application/http; msgtype=request\r\nWARC-Concurrent-To: <"+id+">", request)
	a.record("metadata", url, day0.Add(at), "Content-Type: application/warc-fields\r\nWARC-Concurrent-To: <"+id+">", "fetchTimeMs: 100\r\n")
}
