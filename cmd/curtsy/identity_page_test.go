package main

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/fetch/webbotauth"
)

// publisher serves a folder below /bot/ over TLS; what is in answers stands before it.
type publisher struct {
	*httptest.Server
	u       *lab
	dir     string
	ca      string // the file of its certificate
	answers map[string]http.HandlerFunc
	asked   []string
	agents  []string
}

func publishing(t *testing.T) *publisher {
	t.Helper()
	p := &publisher{u: &lab{t: t, config: t.TempDir()}, dir: filepath.Join(t.TempDir(), "public"), answers: map[string]http.HandlerFunc{}}
	files := http.StripPrefix("/bot/", http.FileServer(http.Dir(p.dir)))
	p.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked, p.agents = append(p.asked, r.URL.Path), append(p.agents, r.UserAgent())
		switch answer, ok := p.answers[r.URL.Path]; {
		case ok:
			answer(w, r)
		case strings.HasPrefix(r.URL.Path, "/bot/"):
			files.ServeHTTP(w, r)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(p.Close)
	p.ca = filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.Certificate().Raw})
	if err := os.WriteFile(p.ca, block, 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *publisher) page() string { return p.URL + "/bot/" }

// init writes what is published, as a library that answers everything by flags.
func (p *publisher) init(t *testing.T, more ...string) result {
	t.Helper()
	return p.u.run(append([]string{
		"identity", "init", "--dir", p.dir, "--url", p.page(), "--operator", "The Library", "--purpose", "A yearly archive.",
		"--contact", "crawl@library.org", "--retention", "Ten years.", "--agent", "libbot", "--range", "192.0.2.17/28,2001:db8::/48",
	}, more...)...)
}

func (p *publisher) check(t *testing.T, more ...string) result {
	t.Helper()
	return p.u.run(append([]string{"identity", "check", "--ca-file", p.ca, p.page()}, more...)...)
}

// The card names where the keys of signed requests are published, and check looks whether the right one is there.
func TestIdentityCheckLooksForTheKeyThatRequestsAreSignedWith(t *testing.T) {
	t.Parallel()
	p := publishing(t)
	directory := filepath.Join(t.TempDir(), "directory")
	p.u.run("identity", "keygen", "--signature-agent", p.URL, "-o", directory).want(t, cli.ExitDone)
	p.init(t).want(t, cli.ExitDone)
	r := p.check(t)
	r.want(t, cli.ExitFound, "1 disagreement")
	if !strings.Contains(r.out, "agrees   card   jwks_uri:\n         "+p.URL+webbotauth.WellKnown+"\n") || !strings.Contains(r.out, "missing  keys   document\n") {
		t.Errorf("%s", r.out)
	}
	p.answers[webbotauth.WellKnown] = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", webbotauth.MediaType)
		http.ServeFile(w, r, directory)
	}
	r = p.check(t)
	r.want(t, cli.ExitDone)
	if !strings.Contains(r.out, "agrees   keys   keys: ") || strings.Contains(r.out, "requests are not signed") {
		t.Errorf("%s", r.out)
	}
	if err := os.WriteFile(filepath.Join(p.u.config, "curtsy", crawldir.BotKey.Name), []byte(strings.Repeat("7", 64)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r = p.check(t)
	r.want(t, cli.ExitFound, "1 disagreement")
	if !strings.Contains(r.out, "differs  keys   keys\n") {
		t.Errorf("%s", r.out)
	}
}
