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
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// bulk writes an archive of about so many compressed octets: pages of 20 KiB that compress four to one.
func bulk(t testing.TB, size int64) string {
	path := filepath.Join(t.TempDir(), "bulk-00000.warc.gz")
	f, err := os.Create(path)
	require.NoError(t, err)
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
		require.NoError(t, err)
		written += int64(m)
		a.b.Reset()
	}
	return path
}
