package main

import (
	"bytes"
	"context"
	"fmt"
	"go/parser"
	"go/token"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
)

// small is a site of a root, ten pages that link to each other and elsewhere, and one that is broken.
func small(t *testing.T) (seed string, asked func() map[string]int) {
	var mu sync.Mutex
	log := map[string]int{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		log[r.URL.Path]++
		mu.Unlock()
		if r.URL.Path == "/broken" {
			http.NotFound(w, r)
			return
		}
		for i := range 10 {
			fmt.Fprintf(w, `<a href="/%d#part">x</a><a class="c" href='%d'>x</a><a name="y">x</a><a href="http://other.test/">x</a>`, i, i)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/", func() map[string]int {
		mu.Lock()
		defer mu.Unlock()
		return log
	}
}

func TestRun_FetchesEachPageOfItsHostsOnce(t *testing.T) {
	for _, workers := range []int{1, 7} {
		seed, asked := small(t)
		seen, err := runBare(context.Background(), []string{seed}, workers, 0)
		if err != nil || seen != 11 || len(asked()) != 11 {
			t.Errorf("%d workers: %d seen, %v, asked for %v", workers, seen, err, asked())
		}
		for path, n := range asked() {
			if n != 1 {
				t.Errorf("%d workers: %s %d times", workers, path, n)
			}
		}
	}
}

func TestRun_EndsAtItsLimitAtAnErrorAndWithItsContext(t *testing.T) {
	seed, asked := small(t)
	if seen, err := runBare(context.Background(), []string{seed}, 3, 4); err != nil || len(asked()) != 4 || seen != 11 {
		t.Errorf("%d seen, asked for %v, %v", seen, asked(), err)
	}
	if _, err := runBare(context.Background(), []string{seed + "broken"}, 3, 0); err == nil || !strings.Contains(err.Error(), "/broken: 404") {
		t.Errorf("a broken page: %v", err)
	}
	if _, err := runBare(context.Background(), []string{"::"}, 3, 0); err == nil {
		t.Error("a seed that is none")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := runBare(ctx, []string{seed}, 3, 0); err == nil {
		t.Error("a context that has ended")
	}
}

// A yardstick is short enough to be seen through, and has nothing of the crawler in it.
func TestTheLoopIsBare(t *testing.T) {
	b, err := os.ReadFile("bare.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(b, []byte("\n")); n >= 120 {
		t.Errorf("%d lines", n)
	}
	f, err := parser.ParseFile(token.NewFileSet(), "bare.go", b, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range f.Imports {
		if strings.HasPrefix(spec.Path.Value, `"curtsy/`) {
			t.Errorf("imports %s", spec.Path.Value)
		}
	}
}
