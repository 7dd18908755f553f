package policypage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func seeds(f *testing.F, ending string, add func([]byte)) {
	f.Helper()
	names, err := filepath.Glob(filepath.Join("testdata", "*"+ending))
	require.NoError(f, err)
	require.NotEmptyf(f, names, "%d files, %v", len(names), err)
	for _, name := range names {
		b, err := os.ReadFile(name)
		require.NoError(f, err)
		add(b)
		add(b[:len(b)/2])
	}
}

func FuzzReadPage(f *testing.F) {
	seeds(f, ".html", func(b []byte) { f.Add(b) })
	for _, s := range []string{
		"", `<p data-curtsy=token>a<p data-curtsy=key>b`, `<div data-curtsy=x><div>a</div>b</div>c`, `<style><link rel=a href=b>`,
		strings.Repeat("<div data-curtsy=range>", 100), `<link rel="client-ranges" href="http://[::1">`, "<template>a", "\xff<p\x00>",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ReadPage(b)
		if err != nil {
			return
		}
		size := 0
		for what, values := range p.Marked {
			for _, v := range values {
				size += len(v)
				assert.True(t, utf8.ValidString(v))
				assert.Equal(t, squeeze(v), v)
				if got, ok := p.has(what, v); !ok {
					t.Errorf("%q: published %q, want %q", what, got, v)
				}
			}
		}
		assert.True(t, utf8.ValidString(p.Text))
		assert.LessOrEqual(t, size, 4*len(b)+4)
		for rel := range p.Links {
			if to := p.link(rel, "https://www.library.org/"); to != "" && !strings.HasPrefix(to, "http://") && !strings.HasPrefix(to, "https://") {
				t.Errorf("%q leads to %q", rel, to)
			}
		}
	})
}

func FuzzReadRanges(f *testing.F) {
	seeds(f, "-ranges.json", func(b []byte) { f.Add(b, "application/json") })
	for _, s := range []string{
		`{"creationTime":"2026-05-03T12:00:00Z","prefixes":[{"ipv4Prefix":"1.2.3.4/8"},{"ipv4Prefix":"1.2.3.4/8","ipv6Prefix":"::/0"},{},7]}`,
		`{"creationTime":"2026-05-03T12:00:00Z","prefixes":[{"ipv6Prefix":"1.2.3.4/8"}]}`, `{"creationTime":7,"prefixes":null}`, "[]", "", "\ufeff{}",
	} {
		f.Add([]byte(s), `application/jafar+json; version="1.9"`)
	}
	f.Fuzz(func(t *testing.T, b []byte, mediaType string) {
		r, err := ReadRanges(b, mediaType)
		if err != nil {
			assert.Truef(t, utf8.ValidString(err.Error()), "%q", err)
			return
		}
		assert.Equalf(t, len(r.Services), len(r.Prefixes), "%d prefixes, %d services", len(r.Prefixes), len(r.Services))
		for _, p := range r.Prefixes {
			assert.True(t, p.IsValid())
			assert.Equal(t, p.Masked(), p)
		}
	})
}

func FuzzReadCard(f *testing.F) {
	seeds(f, "-card.json", func(b []byte) { f.Add(b) })
	for _, s := range []string{
		`{"client_id":7,"contacts":"a","web_bot_auth":{"expected-user-agent":["*"],"rfc9309-compliance":true}}`, `{"jwks":{"keys":[{"kty":"OKP"}]}}`,
		`{"web_bot_auth":[]}`, "{}", "null", `{"jwks":null}`, `{"web_bot_auth":null}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := ReadCard(b)
		if err != nil {
			return
		}
		if c.Keys != nil && c.JWKSURI != "" {
			t.Errorf("%+v", c)
		}
		for _, p := range c.UserAgents {
			matches(p, "libbot/0.1.0")
		}
	})
}

func FuzzReadKeys(f *testing.F) {
	for _, s := range []string{
		`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`, `{"keys":[{"d":"x"}]}`, `{"keys":{}}`, `{"keys":[7]}`, "",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		set, err := ReadKeys(b)
		if err == nil && len(set.Ed25519)+set.Others > maxKeys {
			t.Errorf("%d keys", len(set.Ed25519)+set.Others)
		}
	})
}
