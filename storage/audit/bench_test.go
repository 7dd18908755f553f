package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// bulk writes an archive of about so many compressed octets: pages of 20 KiB that compress four to one.
func bulk(t testing.TB, size int64) string {
	path := filepath.Join(t.TempDir(), "bulk-00000.warc.gz")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := rand.New(rand.NewPCG(1, 1))
	words := make([]string, 2000)
	for i := range words {
		words[i] = strconv.FormatUint(r.Uint64()>>20, 36)
	}
	pages := make([]string, 64)
	sums := make([]string, 64)
	for i := range pages {
		var b bytes.Buffer
		for b.Len() < 20<<10 {
			fmt.Fprintf(&b, "<p><a href=\"/%s\">%s</a> ", words[r.IntN(2000)], words[r.IntN(2000)])
		}
		pages[i] = b.String()
		sum := sha256.Sum256(b.Bytes())
		sums[i] = hex.EncodeToString(sum[:])
	}
	a := ours(t, "ip-delay-ms: 0")
	written := int64(0)
	rules := "User-agent: *\nDisallow: /private\nDisallow: /*.php$\nAllow: /private/open\n"
	const hosts = 50
	for n := 0; written < size; n++ {
		host := fmt.Sprintf("https://host%d.test", n%hosts)
		at := time.Duration(n/hosts) * 2 * time.Second
		switch {
		case n/hosts%30000 == 0:
			a.add(fetch{url: host + "/robots.txt", at: at, body: rules})
		default:
			a.add(fetch{url: host + "/" + words[n%2000] + "/" + strconv.Itoa(n), at: at, body: pages[n%64], meta: "decision: allow\r\nrobotsSha256: " + sha(rules) + "\r\n"})
		}
		m, err := f.Write(a.b.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		written += int64(m)
		a.b.Reset()
	}
	return path
}

// BenchmarkAudit says how many compressed octets are audited in a second.
func BenchmarkAudit(b *testing.B) {
	path := bulk(b, 16<<20)
	fi, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(fi.Size())
	b.ReportAllocs()
	for b.Loop() {
		r, err := Run(b.Context(), Options{Files: []string{path}, TempDir: b.TempDir()})
		if err != nil || !r.Clean {
			b.Fatal(err, shown(r))
		}
	}
}

// BenchmarkLargeRobots audits 50 URLs of 8 KB under a robots.txt of 490 KiB whose rules nearly fit all of them.
func BenchmarkLargeRobots(b *testing.B) {
	words := []string{"ab", "cd", "ef", "gh", "ij", "aa", "q"}
	var rules bytes.Buffer
	rules.WriteString("User-agent: *\n")
	for i := 0; rules.Len() < 490<<10; i++ {
		rules.WriteString("Disallow: /")
		for n, k := i, 0; k < 5; n, k = n/7+n, k+1 {
			rules.WriteString("*" + words[n%7])
		}
		rules.WriteString("*zz\n")
	}
	const urls = 50
	a := foreign(b)
	a.robots(rules.String())
	for i := range urls {
		a.add(fetch{url: site + "/" + strings.Repeat("ab/cd-ef_gh.ij", 560) + "?q=aa" + strconv.Itoa(i), at: time.Duration(i+1) * time.Minute})
	}
	path := a.file()
	for b.Loop() {
		r, err := Run(b.Context(), Options{Files: []string{path}, TempDir: b.TempDir()})
		if err != nil || !r.Clean {
			b.Fatal(err, shown(r))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*urls), "ms/URL")
}

// BenchmarkManyLargeRobots audits URLs of 20 hosts by turns, each with a robots.txt of its own of 490 KiB.
func BenchmarkManyLargeRobots(b *testing.B) {
	const hosts, urls = 20, 60
	a := foreign(b)
	for i := range hosts {
		var rules strings.Builder
		rules.WriteString("User-agent: *\n")
		for k := 0; rules.Len() < 490<<10; k++ {
			fmt.Fprintf(&rules, "Disallow: /*word%d-%d*x$\n", i, k)
		}
		a.add(fetch{url: fmt.Sprintf("https://h%d.test/robots.txt", i), body: rules.String()})
	}
	for i := range urls {
		a.add(fetch{url: fmt.Sprintf("https://h%d.test/some/page/%d", i%hosts, i), at: time.Duration(i+1) * time.Minute})
	}
	path := a.file()
	for b.Loop() {
		r, err := Run(b.Context(), Options{Files: []string{path}, TempDir: b.TempDir()})
		if err != nil || !r.Clean {
			b.Fatal(err, shown(r))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N*urls), "ms/URL")
}
