package fetch

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParse_ErrorsHideThePassword(t *testing.T) {
	const secret = "s3cr3t"
	for _, c := range []struct{ raw, want, wrong string }{
		{"http://proxy.lab.dev:3128", "http://proxy.lab.dev:3128", ""},
		{"HTTP://Proxy.lab.dev", "http://proxy.lab.dev:80", ""},
		{"https://proxy.lab.dev/", "https://proxy.lab.dev:443", ""},
		{"socks5://10.0.0.1", "socks5://10.0.0.1:1080", ""},
		{"socks5h://[fd00::1]:9", "socks5h://[fd00::1]:9", ""},
		{"http://jo:" + secret + "@proxy.lab.dev:3128", "http://proxy.lab.dev:3128", ""},
		{"http://jo:%2f" + secret + "@proxy.lab.dev", "http://proxy.lab.dev:80", ""},
		{"jo:" + secret + "@proxy.lab.dev", "", "scheme"},
		{"http://jo:/" + secret + "@proxy.lab.dev", "", "no path"},
		{"http://jo:" + secret + "%zz@proxy.lab.dev", "", "not a URL"},
		{"http://jo:" + secret + "@proxy.lab.dev:port", "", "not a URL"},
		{"http://jo:" + secret + "@proxy.lab.dev:0", "", "port"},
		{"http://jo:" + secret + "@", "", "host"},
		{"ftp://jo:" + secret + "@proxy.lab.dev", "", "scheme"},
		{"http://proxy.lab.dev/" + secret, "", "no path"},
		{"http://a%3ab:" + secret + "@proxy.lab.dev", "", "colon"},
		{"socks5://jo@proxy.lab.dev", "", "RFC 1929"},
		{"http://jo:" + strings.Repeat(secret, 1000) + "@proxy.lab.dev", "", "too long"},
		{"", "", "scheme"},
	} {
		p, err := Parse(c.raw)
		switch {
		case c.wrong == "" && (err != nil || p.String() != c.want):
			t.Errorf("%s: %v, %v, want %s", c.raw, p, err, c.want)
		case c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)):
			t.Errorf("%s: error %v, want one with %q", c.raw, err, c.wrong)
		case err != nil && strings.Contains(err.Error(), secret):
			t.Errorf("%s: the error has the password: %v", c.raw, err)
		}
	}
}

func TestFromEnvironment(t *testing.T) {
	env := map[string]string{
		"http_proxy": "proxy.lab.dev:3128", "HTTPS_PROXY": "http://jo:s3cr3t@secure.lab.dev:3129", "NO_PROXY": "intra.lab.dev,10.0.0.0/8",
	}
	c, err := FromEnvironment(func(name string) string { return env[name] })
	require.NoError(t, err)
	for url, want := range map[string]string{
		"http://www.example.org/": "http://proxy.lab.dev:3128", "https://www.example.org/": "http://secure.lab.dev:3129",
		"http://intra.lab.dev/": "", "http://a.intra.lab.dev/": "", "https://10.1.2.3/": "", "http://localhost:8080/": "", "http://127.0.0.1/": "",
	} {
		got := ""
		if p := c.For(authority(t, url)); p != nil {
			got = p.String()
		}
		assert.Equalf(t, want, got, "%s: by %q, want %q", url, got, want)
	}
	_, err = FromEnvironment(func(string) string { return "http://jo:s3cr3t%zz@proxy" })
	if err == nil || strings.Contains(err.Error(), "s3cr3t") || !strings.Contains(err.Error(), "_proxy") {
		t.Errorf("%v", err)
	}
	if none, err := FromEnvironment(func(string) string { return "" }); err != nil || none.For(authority(t, "http://a.test/")) != nil {
		t.Errorf("without proxies: %v", err)
	}
}
