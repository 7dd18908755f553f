package main

import (
	"archive/zip"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
)

// The evidence reaches as far as what the auditor knows: a key, which may have been rotated, and a witness. It
// does so in a package of the crawl as well, and a crawl that was updated is as clean as before.
func TestTheAuditReachesAsFarAsTheAuditorKnows(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it starts many processes, one after another")
	}
	l := newLab(t)
	dir := filepath.Join(t.TempDir(), "d")
	l.crawl(dir)
	reaches := func(want audit.Level, args ...string) *audit.Result {
		t.Helper()
		run := l.run(append([]string{"audit", "--json"}, args...)...)
		var r audit.Result
		if err := json.Unmarshal([]byte(run.out), &r); err != nil {
			t.Fatalf("%v: %v\n%s%s", args, err, run.out, run.err)
		}
		if run.code != cli.ExitDone || r.Level != want || r.Ledger.Files == 0 {
			t.Errorf("%v: exit code %d, level %q, want %q: %+v %+v", args, run.code, r.Level, want, r.Ledger, r.Findings)
		}
		return &r
	}
	file := func(text string) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), "known")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}

	if r := reaches(audit.SelfConsistent, dir); r.Ledger.SignerKnown || r.Ledger.Signer != l.key || !strings.Contains(strings.Join(r.CannotShow, "\n"), "the signer is unknown") ||
		r.Ledger.FilesAgree != r.Ledger.Files || r.Ledger.Covered != r.Ledger.Entries {
		t.Errorf("%+v %q", r.Ledger, r.CannotShow)
	}
	for _, key := range []string{l.key, file(l.key + "\n")} {
		if r := reaches(audit.SignedByKnown, "--key", key, dir); !r.Ledger.SignerKnown || strings.Contains(strings.Join(r.CannotShow, "\n"), "unknown") {
			t.Errorf("%+v %q", r.Ledger, r.CannotShow)
		}
	}
	stranger := newLab(t)
	l.run("audit", "--key", stranger.key, dir).want(t, cli.ExitFound)
	namedBy(t, finding.LedgerKey, "--key", stranger.key, dir)

	url, key := witnessed(t, l.key)
	l.run("ledger", "submit", "--witness", url, "--witness-key", key.String(), dir).want(t, cli.ExitDone)
	for _, known := range [][]string{{"--witness-key", key.String()}, {"--witness-key", key.Cosigner()}, {"--key", l.key, "--witness-key", key.String()}} {
		if r := reaches(audit.Lodged, append(known, dir)...); len(r.Ledger.Lodged) != 1 || r.Ledger.Lodged[0].At.IsZero() || r.Ledger.Since != 0 {
			t.Errorf("%v: %+v", known, r.Ledger)
		}
	}
	old := l.key
	l.run("ledger", "key", "--rotate").want(t, cli.ExitDone)
	l.grow(dir)
	if r := reaches(audit.Lodged, "--key", old, "--witness-key", key.String(), dir); len(r.Ledger.Keys) != 2 || !r.Ledger.SignerKnown || r.Ledger.Since == 0 || len(r.Levels) != 2 {
		t.Errorf("%+v %+v", r.Ledger, r.Levels)
	}
	text := l.run("audit", "--key", old, "--witness-key", key.String(), dir)
	text.want(t, cli.ExitDone)
	for _, says := range []string{"Level reached: submitted or cosigned: the first ", "How far it reaches", "signed by a key you know: the first ", "confirmed by access log: not shown; give the logs", key.Name()} {
		if !strings.Contains(strings.Join(strings.Fields(text.out), " "), says) {
			t.Errorf("the text does not say %q:\n%s", says, text.out)
		}
	}

	pack := filepath.Join(t.TempDir(), "d.wacz")
	l.run("export", "--format", "wacz", "-o", pack, dir).want(t, cli.ExitDone)
	reaches(audit.Lodged, "--key", old, "--witness-key", key.Cosigner(), pack)
	z, err := zip.OpenReader(pack)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, part := range []string{"ledger/000000.jsonl", "ledger/checkpoint", "ledger/checkpoints/", "ledger/tile/0/", "ledger/hosts.jsonl"} {
		if !slices.ContainsFunc(z.File, func(f *zip.File) bool { return strings.Contains(f.Name, part) }) {
			t.Errorf("the package has no %s", part)
		}
	}
}
