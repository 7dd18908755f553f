package graph_test

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/storage/graph"
)

// resident is the most memory that the process had, where the system tells.
func resident() string {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "what was resident is not told here"
	}
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "VmHWM:") {
			return strings.Join(strings.Fields(line), " ")
		}
	}
	return "what was resident is not told here"
}

// The figures of docs/guides/export.md: ten million edges between a million hosts.
func TestTenMillionEdges(t *testing.T) {
	links, hosts := 200_000, 20_000
	if os.Getenv("CURTSY_LONG") == "1" {
		links, hosts = 11_500_000, 1_000_000
	}
	r := rand.New(rand.NewPCG(16, 8))
	host := func(power float64) string {
		i := int(float64(hosts) * math.Pow(r.Float64(), power))
		return fmt.Sprintf("http://h%d.d%d.example/", i%7, i)
	}
	began := time.Now()
	done := func(format string, args ...any) {
		t.Logf("%6.1f s, %s: %s", time.Since(began).Seconds(), resident(), fmt.Sprintf(format, args...))
		began = time.Now()
	}
	b := graph.New(graph.Options{Dir: t.TempDir()})
	for range links {
		require.NoError(t, b.Link(host(1.4), host(3)))
	}
	done("%d links taken", links)
	g, err := b.Graph(t.Context())
	require.NoError(t, err)
	defer g.Close()
	done("a graph of %d hosts and %d edges", g.Order(), g.Size())
	d := &graph.Document{Level: g.Level, Graph: g}
	require.NoError(t, d.GraphML(io.Discard))
	done("GraphML, into the void")
	if os.Getenv("CURTSY_LONG") == "1" && g.Size() < 10_000_000 {
		t.Errorf("%d edges only", g.Size())
	}
}
