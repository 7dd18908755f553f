package main

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawltest"
)

func flagSite() *crawltest.Site {
	return &crawltest.Site{Name: "bakery.test", Pages: map[string]crawltest.Page{
		"/":                {Links: []string{"/shop/", "/news/1.html", "/recipe.pdf"}, Embeds: []string{"/style.css"}},
		"/shop/":           {Links: []string{"/shop/bread.html", "/"}},
		"/shop/bread.html": {Links: []string{"/shop/rye.html"}},
		"/shop/rye.html":   {},
		"/news/1.html":     {},
		"/recipe.pdf":      {Body: "%PDF-1.7", Type: "application/pdf"},
		"/style.css":       {Body: "p{}", Type: "text/css"},
	}}
}

func TestACertificateAuthorityOfOnesOwnAndTheLanguageField(t *testing.T) {
	t.Parallel()
	var languages []string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		languages = append(languages, r.Header.Get("Accept-Language"))
	}))
	defer server.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	require.NoError(t, os.WriteFile(ca, block, 0o600))
	inside(t, "crawl", "--dir", filepath.Join(t.TempDir(), "d"), server.URL).want(t, cli.ExitIncomplete, "certificate from an unknown issuer (--ca-file FILE trusts it)")
	inside(t, "crawl", "--delay", "0", "--ca-file", ca, "--accept-language", "de, en;q=0.5", "--dir", filepath.Join(t.TempDir(), "d"), server.URL).want(t, cli.ExitDone)
	if len(languages) == 0 || languages[0] != "de, en;q=0.5" {
		t.Errorf("sent Accept-Language %q", languages)
	}
}
