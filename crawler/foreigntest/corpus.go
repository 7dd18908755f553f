package foreigntest

import (
	"os"
	"path/filepath"
	"testing"
)

// shareVar names the folder that holds the documentation of Debian's packages, as /usr/share does. Tests read nothing of the
// machine that it does not lead to.
const shareVar = "CURTSY_SHARE"

// Corpus returns a folder of a Debian package, named relative to /usr/share, links resolved. The test is skipped with -short,
// and if CURTSY_SHARE is not set or lacks the folder; the latter fails the test if CURTSY_MUST_RUN is set as well.
func Corpus(t testing.TB, folder, pkg string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("it reads the documentation of Debian's package " + pkg)
	}
	share := os.Getenv(shareVar)
	root, err := filepath.EvalSymlinks(filepath.Join(share, filepath.FromSlash(folder)))
	switch {
	case share != "" && err == nil:
		return root
	case os.Getenv("CURTSY_MUST_RUN") != "":
		t.Fatalf("%s=%s has no %s of Debian's package %s, and CURTSY_MUST_RUN is set", shareVar, share, folder, pkg)
	case share == "":
		t.Skipf("%s is not set: it names a folder with %s of Debian's package %s", shareVar, folder, pkg)
	default:
		t.Skipf("%v: install Debian's package %s", err, pkg)
	}
	return ""
}

// HasCorpora reports whether CURTSY_SHARE or CURTSY_MUST_RUN asks for corpora, for tests that do without them otherwise, as
// with -short.
func HasCorpora() bool {
	return !testing.Short() && (os.Getenv(shareVar) != "" || os.Getenv("CURTSY_MUST_RUN") != "")
}
