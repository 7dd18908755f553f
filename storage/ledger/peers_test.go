//go:build peers

package ledger

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/storage/ledger/tree"
)

func code(t *testing.T, language, what string) string {
	t.Helper()
	for i, part := range strings.Split(page(t), "```") {
		if text, ok := strings.CutPrefix(part, language+"\n"); ok && i%2 == 1 && strings.Contains(text, what) {
			return text
		}
	}
	t.Fatalf("no %s with %q", language, what)
	return ""
}

func all(t *testing.T, dir string) (text []byte) {
	t.Helper()
	numbers, err := segments(dir)
	require.NoError(t, err)
	for _, n := range numbers {
		f, err := openSegment(dir, n)
		require.NoError(t, err)
		b, err := io.ReadAll(f)
		f.close()
		require.NoError(t, err)
		text = append(text, b...)
	}
	return text
}

func TestPeers_ForeignRoot(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		require.Emptyf(t, os.Getenv("CURTSY_MUST_RUN"), "%v, and CURTSY_MUST_RUN is set", err)
		t.Skip("no python3")
	}
	dir := newLedger(t, testKey(1), 1, 2)
	sizes, err := Checkpoints(dir)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(sizes), 4, sizes)
	text := all(t, dir)
	lines := bytes.SplitAfter(text, []byte("\n"))
	at := slices.IndexFunc(lines, func(l []byte) bool { return bytes.Contains(l, []byte("a.test/1")) })
	lines[at] = append(Stub(tree.EntryHash(bytes.TrimSuffix(lines[at], []byte("\n")))), '\n')
	for what, text := range map[string][]byte{"whole": text, "forgotten": bytes.Join(lines, nil)} {
		for _, size := range sizes {
			n, err := ReadNote(CheckpointPath(dir, size))
			require.NoError(t, err)
			cmd := exec.CommandContext(t.Context(), python, "-c", code(t, "python", "hashlib"), fmt.Sprint(size))
			cmd.Stdin = bytes.NewReader(text)
			out, err := cmd.CombinedOutput()
			if want := fmt.Sprintf("%d:%x\n", n.Size, n.Root[:]); err != nil || string(out) != want {
				t.Errorf("%s: %s, %v; want %s", what, out, err, want)
			}
		}
	}
}
