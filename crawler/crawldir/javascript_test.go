package crawldir

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/crawler/budget"
	"curtsy/storage/ledger"
)

// A page that is empty without JavaScript is counted, named in the summary and marked in the ledger; the others are not.
func TestAPageThatIsEmptyWithoutJavaScriptIsCountedAndNamed(t *testing.T) {
	pages := map[string]string{
		"/":      `<p>See the <a href="/app">app</a> and the <a href="/plain">page</a>.</p><script src="/x.js"></script>`,
		"/app":   `<!doctype html><title>App</title><noscript>You need to enable JavaScript.</noscript><div id="root"></div><script src="/x.js"></script>`,
		"/plain": `<p>Short, and all there is.</p>`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(page))
	}))
	defer server.Close()
	set := Defaults()
	set.Delay = 0
	dir := created(t, &set, server.URL+"/")
	r := ran(t, dir, Options{})
	if n := r.Status.NotRead[budget.EmptyWithoutScript]; n != 1 || !slices.Equal(r.Empty, []string{server.URL + "/app"}) {
		t.Errorf("%d, %q", n, r.Empty)
	}
	var marked []string
	for l, err := range ledger.Read(filepath.Join(dir, LedgerName)) {
		require.NoError(t, err)
		if l.NeedsScript {
			marked = append(marked, l.URL)
		}
	}
	assert.Equal(t, []string{server.URL + "/app"}, marked, "the ledger marks")
}
