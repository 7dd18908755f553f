package foreigntest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Clients returns the folder of the foreign readers of archives and signatures that npm installs (.ci/clients), for a test of a
// package two folders below the root. The test is skipped without node, warcio or one of the others, and fails if
// CURTSY_MUST_RUN is set.
func Clients(t testing.TB, others ...string) string {
	t.Helper()
	_, err := exec.LookPath("node")
	dir, bad := filepath.Abs(filepath.Join("..", "..", ".ci", "clients", "node_modules"))
	if bad != nil {
		t.Fatal(bad)
	}
	for _, name := range append(others, "warcio") {
		if err == nil {
			_, err = os.Stat(filepath.Join(dir, name))
		}
	}
	switch {
	case err != nil && os.Getenv("CURTSY_MUST_RUN") != "":
		t.Fatalf("CURTSY_MUST_RUN is set: %v", err)
	case err != nil:
		t.Skipf("the foreign readers are not installed (npm ci --ignore-scripts in .ci/clients): %v", err)
	}
	return dir
}
