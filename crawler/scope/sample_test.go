package scope

import (
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func sampleOf(t testing.TB, text string) Sample {
	t.Helper()
	s, err := ParseSample(text)
	require.NoError(t, err)
	return s
}

func TestASampleIsWrittenAndReadBack(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "1%": "hosts:1%", "hosts:1%": "hosts:1%", "pages:0.25%": "pages:0.25%", "pages:100%": "pages:100%",
		"pages:0.0000001%": "pages:0.0000001%", "hosts:33.30%": "hosts:33.3%", "hosts:007%": "hosts:7%",
	} {
		s := sampleOf(t, text)
		if got := s.String(); got != want || sampleOf(t, got) != s {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{
		"1", "hosts", "hosts:", "hosts:%", "hosts:0%", "pages:0.0000000%", "hosts:100.0000001%", "hosts:101%", "hosts:1e1%", "urls:1%",
		"hosts:-1%", "hosts: 1%", "pages:.5%", "pages:5.%", "hosts:0.00000001%", "hosts:1%%", "hosts:1:2%", "Hosts:1%", "hosts:+1%", "hosts:1,5%",
	} {
		if s, err := ParseSample(text); err == nil {
			t.Errorf("%q is %q, want an error", text, s.String())
		}
	}
}

// The draw is that of docs/guides/research-crawl.md.
func TestSample_DrawIsReproducible(t *testing.T) {
	for _, key := range []string{"", "another"} {
		for i := range 2000 {
			u := parse(t, fmt.Sprintf("http://www.h%d.test/page?x=%d", i, i))
			for _, c := range []struct{ of, name, spelled string }{
				{SampleHosts, fmt.Sprintf("h%d.test", i), DefaultSampleKey}, {SamplePages, u.Key(), DefaultSampleKey},
			} {
				s := Sample{Of: c.of, parts: 12_345_678, Key: key}
				if key != "" {
					c.spelled = key
				}
				h := hmac.New(sha256.New, []byte(c.spelled))
				h.Write([]byte(c.name))
				drawn := new(big.Int).SetBytes(h.Sum(nil)[:8])
				drawn.Mul(drawn, big.NewInt(sampleWhole)).Rsh(drawn, 64)
				if want := drawn.Cmp(big.NewInt(12_345_678)) < 0; s.Holds(u) != want {
					t.Fatalf("%s %s: %v, want %v", c.of, u, !want, want)
				}
			}
		}
	}
}

// docs/guides/research-crawl.md shows these.
func TestTheDrawOfTheDocs(t *testing.T) {
	hosts, pages := sampleOf(t, "hosts:50%"), sampleOf(t, "pages:50%")
	if !hosts.Holds(parse(t, "https://www.example.org/x")) || hosts.Holds(parse(t, "http://example.com/")) || pages.Holds(parse(t, "http://example.org/")) {
		t.Error("differs from the page")
	}
}

// Samples have the size of their share, nest with one key, and are independent with two.
func TestSamplesAreFairAndNested(t *testing.T) {
	if testing.Short() {
		t.Skip("it computes for long under the race detector")
	}
	const n = 200_000
	shares := []string{"0.1%", "1%", "2%", "10%", "50%"}
	var samples []Sample
	for _, share := range shares {
		samples = append(samples, sampleOf(t, share))
	}
	other := sampleOf(t, "10%")
	other.Key = "another"
	counts, both, others := make([]int, len(samples)), 0, 0
	for i := range n {
		name, was := fmt.Sprintf("h%d.test", i), false
		for j := range samples {
			in := samples[j].draw(name) < samples[j].parts
			if was && !in {
				t.Fatalf("%s is in %s and not in %s", name, shares[j-1], shares[j])
			}
			if was = in; in {
				counts[j]++
			}
		}
		if other.draw(name) < other.parts {
			if others++; samples[3].draw(name) < samples[3].parts {
				both++
			}
		}
	}
	near := func(what string, got int, p float64) {
		if want := n * p; math.Abs(float64(got)-want) > 5*math.Sqrt(want) {
			t.Errorf("%s: %d of %d, want about %.0f", what, got, n, want)
		}
	}
	for j := range samples {
		near(shares[j], counts[j], float64(samples[j].parts)/sampleWhole)
	}
	near("another key", others, 0.1)
	near("both keys", both, 0.01)
}

func TestSample_Exclusions(t *testing.T) {
	in, out := "", "" // two hosts and pages of which one is drawn
	half := sampleOf(t, "hosts:50%")
	for i := 0; in == "" || out == ""; i++ {
		name := fmt.Sprintf("h%d.test", i)
		if half.Holds(parse(t, "http://"+name+"/")) {
			in = name
		} else {
			out = name
		}
	}
	halfPages := sampleOf(t, "pages:50%")
	drawn, left := "", ""
	for i := 0; drawn == "" || left == ""; i++ {
		u := fmt.Sprintf("http://s.test/%d", i)
		if halfPages.Holds(parse(t, u)) {
			drawn = u
		} else {
			left = u
		}
	}
	for _, c := range []struct {
		name, sample string
		seeds        bool
		url          string
		is           Candidate
		want         string
	}{
		{"a host that is drawn", "hosts:50%", false, "http://www." + in + "/x", Candidate{}, "in scope:any"},
		{"a host that is not", "hosts:50%", false, "http://" + out + "/x", Candidate{}, "out scope:sample"},
		{"www. makes no other host", "hosts:50%", false, "https://www." + out + ":81/x", Candidate{}, "out scope:sample"},
		{"a picture there", "hosts:50%", false, "http://" + out + "/x", Candidate{Embed: true, Embeds: 1}, "out scope:sample"},
		{"a redirect there", "hosts:50%", false, "http://" + out + "/x", Candidate{Redirect: true}, "out scope:sample"},
		{"a seed there", "hosts:50%", false, "http://" + out + "/x", Candidate{Seed: true}, "in scope:seed"},
		{"a seed's redirect there", "hosts:50%", false, "http://" + out + "/x", Candidate{Seed: true, Redirect: true}, "in scope:seed-redirect"},
		{"a seed there, sampled", "hosts:50%", true, "http://" + out + "/x", Candidate{Seed: true}, "out scope:sample"},
		{"a seed's redirect there, sampled", "hosts:50%", true, "http://" + out + "/x", Candidate{Seed: true, Redirect: true}, "out scope:sample"},
		{"a seed that is drawn, sampled", "hosts:50%", true, "http://" + in + "/x", Candidate{Seed: true}, "in scope:seed"},
		{"a page that is drawn", "pages:50%", false, drawn, Candidate{}, "in scope:any"},
		{"a page that is not", "pages:50%", false, left, Candidate{}, "out scope:sample"},
		{"shown by a page", "pages:50%", false, left, Candidate{Embed: true, Embeds: 1}, "in scope:any"},
		{"where a page redirects to", "pages:50%", false, left, Candidate{Redirect: true}, "in scope:any"},
		{"a seed", "pages:50%", false, left, Candidate{Seed: true}, "in scope:seed"},
		{"a sitemap", "pages:50%", false, left, Candidate{Map: true}, "in scope:sitemap"},
	} {
		sample := sampleOf(t, c.sample)
		sample.Seeds = c.seeds
		s := newScope(t, Config{Mode: ModeAny, Sample: sample, Sitemaps: true}, "http://s.test/")
		c.is.URL = parse(t, c.url)
		assert.Equal(t, c.want, text(s.Judge(c.is)), c.name)
	}
	s := newScope(t, Config{Mode: ModeAny, Sample: half}, "http://s.test/")
	if !s.Reaches(parse(t, "http://"+in+"/")) || s.Reaches(parse(t, "http://"+out+"/")) {
		t.Error("sitemaps are read of hosts that are not drawn, or not of those that are")
	}
	assert.NotContains(t, strings.Join(newScope(t, Config{}, "http://s.test/").Rules(), " "), RuleSample, "a crawl without a sample has the rule")
}
