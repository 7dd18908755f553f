package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
)

// A mirror of a site on this machine is made without a contact. That files of other hosts are left out is said; whoever asks
// for them is told what is missing.
func TestAMirrorOfOnesOwnMachineNeedsNoContact(t *testing.T) {
	home(t, "")
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<img src="http://pictures.example/x.png">`)
	}))
	defer site.Close()
	dir := filepath.Join(t.TempDir(), "d")
	atHome(t, "mirror", "--delay", "0", "--dir", dir, site.URL+"/").want(t, cli.ExitDone, "of other hosts is left out", "curtsy identity set --contact")
	if b := atHome(t, "mirror", "check", dir); b.code != cli.ExitDone && !strings.Contains(b.out, "pictures.example") {
		t.Errorf("%+v", b)
	}
	atHome(t, "mirror", "--requisites", "all", "--dir", dir+"2", site.URL+"/").want(t, cli.ExitUsage, "no contact")
}
