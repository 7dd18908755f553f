package audit

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

type scales struct {
	idle
	n, most uint64
}

func (s *scales) Exchange(context.Context, *evidence.Exchange, finding.Report) error {
	if s.n++; s.n%100 == 0 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		s.most = max(s.most, m.HeapAlloc)
	}
	return nil
}

func weighed(t *testing.T, size int64) (most, exchanges uint64) {
	t.Helper()
	s := &scales{}
	r, err := Run(t.Context(), Options{Files: []string{bulk(t, size)}, TempDir: t.TempDir(), Witnesses: []Witness{s}})
	require.NoError(t, err)
	require.True(t, r.Clean, shown(r))
	return s.most, s.n
}

func TestMemoryDoesNotGrowWithTheArchive(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures memory")
	}
	small, few := weighed(t, 2<<20)
	large, many := weighed(t, 8<<20)
	t.Logf("%d exchanges: %d octets; %d exchanges: %d octets", few, small, many, large)
	require.GreaterOrEqualf(t, many, 2*few, "%d exchanges against %d: the test shows nothing", many, few)
	assert.Truef(t, large <= small+small/4 && large <= 32<<20, "%d exchanges took %d octets of heap, %d took %d", few, small, many, large)
}

func TestOneGibibyteIn128MiB(t *testing.T) {
	if os.Getenv("CURTSY_LONG") != "1" {
		t.Skip("it takes minutes; CURTSY_LONG=1 runs it")
	}
	most, n := weighed(t, 1<<30)
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skip("the most that was resident can be read on Linux only")
	}
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "VmHWM:") {
			t.Logf("%d exchanges, heap %d octets, resident %s", n, most, line)
			if kb := strings.Fields(line)[1]; len(kb) > 6 || len(kb) == 6 && kb > "131072" {
				t.Errorf("resident: %s, more than 128 MiB", strings.TrimSpace(line))
			}
		}
	}
}

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
	for i := range pages {
		var b bytes.Buffer
		for b.Len() < 20<<10 {
			fmt.Fprintf(&b, "<p><a href=\"/%s\">%s</a> ", words[r.IntN(2000)], words[r.IntN(2000)])
		}
		pages[i] = b.String()
	}
	a := ours(t, "ip-delay-ms: 0")
	written := int64(0)
	rules := "User-agent: *\nDisallow: /private\nDisallow: /*.php$\nAllow: /private/open\n"
	const hosts = 50
	for n := 0; written < size; n++ {
		host := fmt.Sprintf("https://host%d.test", n%hosts)
		at := time.Duration(n/hosts) * 2 * time.Second
		if n/hosts%30000 == 0 {
			a.add(fetch{url: host + "/robots.txt", at: at, body: rules})
		} else {
			a.add(fetch{url: host + "/" + words[n%2000] + "/" + strconv.Itoa(n), at: at, body: pages[n%64], meta: "decision: allow\r\nrobotsSha256: " + sha(rules) + "\r\n"})
		}
		m, err := f.Write(a.b.Bytes())
		require.NoError(t, err)
		written += int64(m)
		a.b.Reset()
	}
	return path
}
