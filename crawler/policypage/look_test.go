package policypage

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLook_UnchangedDocumentsAgree(t *testing.T) {
	bare := statement()
	bare.Ranges, bare.Key = nil, ""
	odd := statement()
	odd.Purpose, odd.Operator = "Nutzen & Zweck: <b>»alles«</b>  im Netz", `"The" 'Library' – 図書館`
	plain := statement()
	plain.URL = "http://127.0.0.1:8080/bot.html"
	for name, s := range map[string]Statement{"full": statement(), "bare": bare, "odd": odd, "over http": plain} {
		f := look(t, publish(t, s), wanted(s))
		if !f.Agree || len(disagreements(f)) > 0 || len(f.Documents) != 3 || len(f.Checks) < 12 {
			t.Errorf("%s: %+v", name, f)
		}
		assert.Equal(t, (name == "over http"), strings.Contains(strings.Join(f.Notes, "\n"), "not published over https"), name)
	}
}

func TestEachDisagreementIsFound(t *testing.T) {
	const page, ranges, card = "https://www.library.org/bot/", "https://www.library.org/bot/crawler-ranges.json", "https://www.library.org/bot/agent-card.json"
	replaced := func(url, old, new string) func(*testing.T, site, *Wanted) {
		return func(t *testing.T, s site, _ *Wanted) {
			a := s[url]
			require.NotEqualf(t, 0, strings.Count(string(a.Body), old), "%s does not have %q", url, old)
			a.Body = []byte(strings.ReplaceAll(string(a.Body), old, new))
			s[url] = a
		}
	}
	settings := func(change func(*Wanted)) func(*testing.T, site, *Wanted) {
		return func(_ *testing.T, _ site, w *Wanted) { change(w) }
	}
	answer := func(url string, change func(*Answer)) func(*testing.T, site, *Wanted) {
		return func(_ *testing.T, s site, _ *Wanted) { a := s[url]; change(&a); s[url] = a }
	}
	body := func(url, text string) func(*testing.T, site, *Wanted) {
		return answer(url, func(a *Answer) { a.Body = []byte(text) })
	}
	for name, c := range map[string]struct {
		change func(*testing.T, site, *Wanted)
		want   string // disagreements, sorted
	}{
		"another token in the settings":               {settings(func(w *Wanted) { w.Token = "lib"; w.UserAgent = "lib/1" }), "card User-Agent differs, card token differs, page token differs, ranges ranges differs"},
		"another token on the page":                   {replaced(page, `data-curtsy="token">libbot`, `data-curtsy="token">libbot-two`), "page token differs"},
		"another token on the card":                   {replaced(card, `"rfc9309-product-token": "libbot"`, `"rfc9309-product-token": "lib"`), "card token differs"},
		"another operator":                            {settings(func(w *Wanted) { w.Operator = "The Archive" }), "page operator differs"},
		"another purpose":                             {settings(func(w *Wanted) { w.Purpose = "Profit." }), "card purpose differs, page purpose differs"},
		"another purpose on the card":                 {replaced(card, "yearly", "daily"), "card purpose differs"},
		"data are kept for longer":                    {settings(func(w *Wanted) { w.Retention = "For good." }), "page retention differs"},
		"no word on retention":                        {replaced(page, `<p data-curtsy="retention">`, `<p data-curtsy="retention"></p><p>`), "page retention missing"},
		"another contact":                             {settings(func(w *Wanted) { w.Contact = "ask@library.org" }), "card contact differs, page contact differs"},
		"another contact on the card":                 {replaced(card, "mailto:crawl@", "mailto:x@"), "card contact differs"},
		"requests lead elsewhere":                     {settings(func(w *Wanted) { w.Carried = "https://www.library.org/old/" }), "page contact of requests differs"},
		"requests carry an unknown mailbox":           {settings(func(w *Wanted) { w.Carried = "x@library.org" }), "page contact of requests differs"},
		"another key":                                 {settings(func(w *Wanted) { w.Key = "curtsy-00000000+1+AA" }), "page key differs"},
		"no key on the page":                          {replaced(page, verifier, ""), "page key missing"},
		"a range more in the settings":                {settings(func(w *Wanted) { w.Ranges = append(w.Ranges, netip.MustParsePrefix("198.51.100.0/24")) }), "page ranges differs, ranges ranges differs"},
		"a range less in the settings":                {settings(func(w *Wanted) { w.Ranges = w.Ranges[:1] }), "page ranges differs, ranges ranges differs"},
		"no ranges in the settings":                   {settings(func(w *Wanted) { w.Ranges = nil }), "page ranges differs, ranges ranges differs"},
		"another range on the page":                   {replaced(page, "192.0.2.16/28", "192.0.2.16/29"), "page ranges differs"},
		"no range at all on the page":                 {replaced(page, "192.0.2.16/28", "ours"), "page ranges differs"},
		"another range in the list":                   {replaced(ranges, "192.0.2.16/28", "192.0.2.0/24"), "ranges ranges differs"},
		"a range of another service":                  {replaced(ranges, `"services": [`+"\n"+`        "libbot"`, `"services": [`+"\n"+`        "other"`), "ranges ranges differs"},
		"an address outside":                          {settings(func(w *Wanted) { w.Addresses = []netip.Addr{netip.MustParseAddr("192.0.2.32")} }), "ranges address missing"},
		"a list from the future":                      {replaced(ranges, "2026-05-03T12:00:00Z", "2026-05-09T12:00:00Z"), "ranges creationTime differs"},
		"a list that is not JSON":                     {body(ranges, "{"), "ranges document differs"},
		"a list without a date":                       {replaced(ranges, "creationTime", "made"), "ranges document differs"},
		"a list of a later version":                   {answer(ranges, func(a *Answer) { a.Type = `application/jafar+json; version="2.0"` }), "ranges document differs"},
		"a card that is HTML":                         {body(card, "<!DOCTYPE html>"), "card document differs"},
		"a card behind a redirect":                    {answer(card, func(a *Answer) { a.Redirects = []string{"https://www.library.org/card"} }), "card document differs"},
		"a card of another page":                      {replaced(card, `"client_uri": "https://www.library.org/bot/"`, `"client_uri": "https://www.library.org/"`), "card client_uri differs"},
		"a card of another place":                     {replaced(card, `/bot/agent-card.json`, `/card.json`), "card client_id differs"},
		"a card of another list":                      {replaced(card, `crawler-ranges.json`, `ranges.json`), "card ips_uri differs"},
		"a card of a fetcher":                         {replaced(card, `"trigger": "crawler"`, `"trigger": "fetcher"`), "card trigger differs"},
		"a card of no compliance":                     {replaced(card, `"rfc9309-compliance"`, `"x"`), "card rfc9309-compliance missing"},
		"a card of another agent":                     {replaced(card, `libbot/*`, `libbot/9*`), "card User-Agent differs"},
		"a card without a bot":                        {replaced(card, `"web_bot_auth"`, `"x"`), "card User-Agent missing, card ips_uri missing, card purpose missing, card rfc9309-compliance missing, card token missing, card trigger missing"},
		"no page":                                     {answer(page, func(a *Answer) { a.Status = 404 }), "page document missing"},
		"no answer":                                   {answer(page, func(a *Answer) { *a = Answer{Trouble: "connection refused", Silent: true} }), "page document missing"},
		"no list":                                     {answer(ranges, func(a *Answer) { a.Status = 500 }), "ranges document missing"},
		"no card":                                     {answer(card, func(a *Answer) { a.Status = 403 }), "card document missing"},
		"a huge page":                                 {answer(page, func(a *Answer) { a.Body = make([]byte, MaxDocument+1) }), "page document missing"},
		"a page without links":                        {replaced(page, "<link ", "<meta "), "page link missing, page link missing"},
		"another organisation's page":                 {body(page, "<h1>Welcome</h1>"), "page contact missing, page contact of requests differs, page key missing, page link missing, page link missing, page operator missing, page purpose missing, page retention missing, page token missing"},
		"a key directory that the card does not name": {settings(func(w *Wanted) { w.Directory = "https://www.library.org/keys" }), "card jwks_uri missing"},
	} {
		t.Run(name, func(t *testing.T) {
			s := publish(t, statement())
			w := wanted(statement())
			if name == "another organisation's page" {
				w.Carried = "crawl@library.org"
			}
			c.change(t, s, &w)
			f, err := Look(t.Context(), page, w, s.ask)
			require.NoError(t, err)
			got := disagreements(f)
			slices.Sort(got)
			if strings.Join(got, ", ") != c.want || f.Agree || f.Silent != (name == "no answer") {
				t.Errorf("%q, agree %v, silent %v; want %q", got, f.Agree, f.Silent, c.want)
			}
		})
	}
}

func TestLook_UnsetValuesAreUnknown(t *testing.T) {
	s := statement()
	f, err := Look(t.Context(), s.URL, Wanted{Now: noon}, publish(t, s).ask)
	require.NoError(t, err)
	for _, c := range f.Checks {
		switch c.Subject {
		case "client_id", "ips_uri", "client_uri", "trigger", "rfc9309-compliance":
			assert.Equalf(t, Agrees, c.Result, "%+v", c)
		default:
			assert.Equalf(t, Unknown, c.Result, "%+v", c)
		}
	}
	assert.True(t, f.Agree, "a disagreement")
}

func TestLook_HandWrittenPageAgrees(t *testing.T) {
	s := statement()
	made := publish(t, s)
	made[s.URL] = Answer{URL: s.URL, Status: 200, Body: []byte(`<html><head><link rel=client-ranges href=crawler-ranges.json><link href=agent-card.json rel="describedby x"></head>
<body>The  Library sends libbot. A yearly archive of the region's
websites, for readers and researchers. <p hidden>` + s.Retention + `</p> <a href="mailto:crawl@library.org">mail</a>
Key: ` + verifier + `.</body>`)}
	assert.True(t, look(t, made, wanted(s)).Agree)
	hidden := made[s.URL]
	hidden.Body = []byte(strings.Replace(string(hidden.Body), "The  Library sends libbot", "<script>The Library sends libbot</script> The Library sends libbots, libbot-two", 1))
	made[s.URL] = hidden
	assert.Equal(t, "page token missing", strings.Join(disagreements(look(t, made, wanted(s))), ", "))
}

func TestRedirectsOfThePageAreReported(t *testing.T) {
	s := statement()
	made := publish(t, s)
	const old = "https://library.org/bot"
	a := made[s.URL]
	a.Redirects = []string{s.URL}
	made[old] = a
	w := wanted(s)
	f, err := Look(t.Context(), old, w, made.ask)
	if err != nil || !f.Agree || f.Documents[0].URL != old || !slices.Equal(f.Documents[0].Redirects, []string{s.URL}) {
		t.Errorf("%v, %+v", err, f)
	}
}

func TestTheKeyDirectoryIsLookedAt(t *testing.T) {
	const at = "https://www.library.org/.well-known/http-message-signatures-directory"
	const x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"     // RFC 8037 A.2
	const print = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k" // RFC 8037 A.3
	s := statement()
	s.Directory = at
	for name, c := range map[string]struct{ body, want string }{
		"the key of RFC 8037": {`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"` + x + `","kid":"` + print + `"}]}`, ""},
		"another key":         {`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"` + x + `"}]}`, "keys keys differs"},
		"without a name":      {`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"` + x + `"},{"kty":"RSA"}],"purpose":"rag"}`, ""},
		"another name":        {`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"` + x + `","kid":"one"}]}`, "keys document differs"},
		"an invalid key":      {`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AAAA"}]}`, "keys document differs"},
		"a secret":            {`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"` + x + `","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"}]}`, "keys document differs"},
		"no key":              {`{"keys":[]}`, "keys keys missing"},
		"keys of other kinds": {`{"keys":[{"kty":"EC"}]}`, "keys keys missing"},
		"no keys at all":      {`{}`, "keys document differs"},
		"not there":           {"", "keys document missing"},
	} {
		made := publish(t, s)
		if c.body != "" {
			made[at] = Answer{URL: at, Status: 200, Type: directoryType, Body: []byte(c.body)}
		}
		w := wanted(s)
		w.SigningKey = print
		if name == "another key" {
			w.SigningKey = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"
		}
		f := look(t, made, w)
		assert.Equal(t, c.want, strings.Join(disagreements(f), ", "), name)
		if c.want == "" && f.Checks[len(f.Checks)-1].Published != print {
			t.Errorf("%s: %+v", name, f.Checks[len(f.Checks)-1])
		}
	}
	made := publish(t, statement())
	card := made["https://www.library.org/bot/agent-card.json"]
	for with, want := range map[string]string{
		`"jwks":{"keys":[{"kty":"OKP","crv":"Ed25519","x":"` + x + `"}]},`: "",
		`"jwks":{"keys":[]},`: "keys keys missing",
		`"jwks":7,`:           "card document differs",
		`"jwks":{"keys":[]},"jwks_uri":"` + at + `",`: "card document differs",
		`"jwks_uri":"http://www.library.org/keys",`:   "card jwks_uri differs",
	} {
		changed := card
		changed.Body = []byte("{" + with + string(card.Body[1:]))
		made[card.URL] = changed
		assert.Equal(t, want, strings.Join(disagreements(look(t, made, wanted(statement()))), ", "), with)
	}
}

func TestAnOldListIsNoted(t *testing.T) {
	w := wanted(statement())
	w.Now = noon.Add(50 * time.Hour)
	w.Addresses = []netip.Addr{netip.MustParseAddr("192.0.2.17"), netip.MustParseAddr("::ffff:192.0.2.17"), netip.MustParseAddr("2001:db8:5::9")}
	f := look(t, publish(t, statement()), w)
	assert.True(t, f.Agree)
	assert.Contains(t, strings.Join(f.Notes, "\n"), "2 days old")
}

func TestLook_FailureToFetchIsAnError(t *testing.T) {
	broken := errors.New("broken")
	s := statement()
	made := publish(t, s)
	for n := range 3 {
		asked := 0
		_, err := Look(t.Context(), s.URL, wanted(s), func(ctx context.Context, url string) (Answer, error) {
			if asked++; asked > n {
				return Answer{}, broken
			}
			return made.ask(ctx, url)
		})
		assert.ErrorIsf(t, err, broken, "at question %d", n+1)
	}
}

func TestExpectedUserAgentsMatchByTheirBeginning(t *testing.T) {
	const agent = "libbot/0.1.0 (+https://www.library.org/bot/) curtsy/0.1.0"
	for pattern, want := range map[string]bool{
		agent: true, "libbot/": true, "libbot/*": true, "libbot/*curtsy/": true, "*": true, "libbot/*(+https://www.library.org/*": true,
		"": false, "lib/": false, "libbot/9*": false, "libbot/*google": false, "curtsy": false, agent + "x": false,
	} {
		assert.Equal(t, want, matches(pattern, agent))
	}
}
