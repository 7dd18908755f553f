package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/storage/ledger/checkpoint"
)

// The verifier key is made once, printed alone on standard output, and not the secret.
func TestLedgerKeyIsMadeOnceAndPrintedForOthers(t *testing.T) {
	home(t, "")
	first := atHome(t, "ledger", "key")
	first.want(t, cli.ExitDone)
	key, err := checkpoint.ParseKey(first.out)
	if err != nil || first.out != key.String()+"\n" || first.err != "" {
		t.Fatalf("%q, %q, %v", first.out, first.err, err)
	}
	if again := atHome(t, "ledger", "key"); again.out != first.out {
		t.Errorf("%q, then %q", first.out, again.out)
	}
	path, err := crawldir.LedgerKey.Path()
	if err != nil {
		t.Fatal(err)
	}
	secret, err := crawldir.LedgerKey.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := checkpoint.NewSigner(secret); err != nil || s.Key() != key {
		t.Errorf("the key in the folder is another: %v", err)
	}
}

func TestLedgerKeyRotatesWithASignatureOfBothKeys(t *testing.T) {
	home(t, "")
	old := strings.TrimSpace(atHome(t, "ledger", "key").out)
	r := atHome(t, "ledger", "key", "--rotate")
	r.want(t, cli.ExitDone, "took the place of "+old[:len("curtsy-00000000")], "destroyed")
	fresh := strings.TrimSpace(r.out)
	if fresh == old {
		t.Fatal("the key is the same")
	}
	plain := atHome(t, "ledger", "key")
	plain.want(t, cli.ExitDone, "1 key before it")
	var out keyJSON
	if err := json.Unmarshal([]byte(atHome(t, "ledger", "key", "--json").out), &out); err != nil {
		t.Fatal(err)
	}
	if plain.out != fresh+"\n" || out.Version != 1 || out.Key != fresh || len(out.Earlier) != 1 || out.Earlier[0].Key != old {
		t.Fatalf("%q, %+v", plain.out, out)
	}
	if note, err := checkpoint.ParseRotation([]byte(out.Earlier[0].Note)); err != nil || note.Old.String() != old ||
		note.New.String() != fresh || !note.At.Equal(out.Earlier[0].Until) {
		t.Errorf("%+v, %v", note, err)
	}
}

// A crawl that is packed after its key was rotated, and before a run goes on with it, is nobody's forgery.
func TestWhatIsPackedAfterARotationIsSound(t *testing.T) {
	home(t, "")
	seed, _ := small(t)
	dir := filepath.Join(t.TempDir(), "d")
	atHome(t, "crawl", "--quiet", "--delay", "0", "--dir", dir, seed).want(t, cli.ExitDone)
	for range 2 {
		atHome(t, "ledger", "key", "--rotate").want(t, cli.ExitDone)
	}
	packed := filepath.Join(t.TempDir(), "d.wacz")
	atHome(t, "export", "--format", "wacz", "-o", packed, dir).want(t, cli.ExitDone)
	atHome(t, "audit", packed).want(t, cli.ExitDone)
}

func TestADamagedLedgerKeyIsNeitherPrintedNorRotated(t *testing.T) {
	home(t, "")
	path, err := crawldir.LedgerKey.Path()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("no key\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"ledger", "key"}, {"ledger", "key", "--rotate"}} {
		if r := atHome(t, args...); r.code != cli.ExitFailed || r.out != "" || !strings.Contains(r.err, "is damaged") {
			t.Errorf("%q: %+v", args, r)
		}
	}
	if b, err := os.ReadFile(path); err != nil || string(b) != "no key\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// The verifier key stands in the archive, in the report, and in what the audit says.
func TestTheVerifierKeyIsNamedWhereverACrawlIsDescribed(t *testing.T) {
	home(t, "")
	key := strings.TrimSpace(atHome(t, "ledger", "key").out)
	seed, _ := small(t)
	dir := filepath.Join(t.TempDir(), "d")
	atHome(t, "crawl", "--quiet", "--delay", "0", "--dir", dir, seed).want(t, cli.ExitDone)
	if !strings.Contains(archiveText(t, dir), "\r\nledger-key: "+key+"\r\n") {
		t.Error("warcinfo does not name it")
	}
	atHome(t, "report", dir).want(t, cli.ExitDone)
	page, err := os.ReadFile(filepath.Join(dir, crawldir.ReportName+".html"))
	if err != nil || !strings.Contains(strings.ReplaceAll(string(page), "&#43;", "+"), "<dt>Verifier key</dt><dd><code>"+key+"</code></dd>") {
		t.Errorf("the report does not name it: %v", err)
	}
	b, err := os.ReadFile(filepath.Join(dir, crawldir.ReportName+".json"))
	if err != nil || !strings.Contains(string(b), `"verifier_key": "`+key+`"`) && !strings.Contains(string(b), `"verifier_key":"`+key+`"`) {
		t.Errorf("the report's JSON does not name it: %v", err)
	}
	audited := atHome(t, "audit", dir)
	if said := strings.Join(strings.Fields(audited.out+audited.err), " "); !strings.Contains(said, "ledger key "+key) {
		t.Errorf("the audit does not name it:\n%s", said)
	}
}
