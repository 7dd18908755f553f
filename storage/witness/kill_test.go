package witness

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"curtsy/storage/ledger/checkpoint"
)

// The environment of a test binary that is a witness: its folder, the key it follows, and where it stands still.
const (
	envDir   = "CURTSY_TEST_WITNESS_DIR"
	envKey   = "CURTSY_TEST_WITNESS_KEY"
	envStall = "CURTSY_TEST_WITNESS_STALL"

	stallBefore = "before" // what it has signed is kept
	stallBehind = "behind" // that, before it answers
	stalled     = "stalled"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(envDir); dir != "" {
		if err := beWitness(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// beWitness serves until the process is killed.
func beWitness(dir string) error {
	k, err := checkpoint.ParseKey(os.Getenv(envKey))
	if err != nil {
		return err
	}
	w, err := Open(dir, Options{Logs: following(k)})
	if err != nil {
		return err
	}
	keep := w.keep
	w.keep = func(n *checkpoint.Note) error {
		stall := func(at string) {
			if os.Getenv(envStall) == at {
				fmt.Println(stalled)
				select {}
			}
		}
		stall(stallBefore)
		err := keep(n)
		stall(stallBehind)
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", l.Addr())
	return Serve(context.Background(), l, w.Handler())
}

// process is a witness of its own.
type process struct {
	cmd    *exec.Cmd
	out    *bufio.Reader
	client *Client
}

func start(t *testing.T, dir, stall string, k checkpoint.Key) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envDir+"="+dir, envKey+"="+k.String(), envStall+"="+stall)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: cmd, out: bufio.NewReader(pipe)}
	t.Cleanup(p.kill)
	if p.client, err = NewClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, p.line(t)); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *process) line(t *testing.T) string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// kill is kill -9, and waits until the process is no more.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // or it has ended
	_, _ = io.Copy(io.Discard, p.out)
	_ = p.cmd.Wait()
}

// A witness is killed between check and answer, before and behind the moment at which it keeps what it signed. It
// never answers two histories.
func TestAKillBetweenCheckAndAnswerLetsNoForkBeSigned(t *testing.T) {
	op := signer(t, 1)
	h := newHistory(t, checkpoint.Origin(op, "0123456789abcdef"), 20, 20, 0)
	fork := newHistory(t, h.origin, 20, 6, 1)
	for stall, want := range map[string]struct{ h, fork int }{
		stallBefore: {http.StatusUnprocessableEntity, http.StatusOK}, // nothing was stated: the other may be, and then not the one
		stallBehind: {http.StatusOK, http.StatusUnprocessableEntity}, // it was kept: it stands, whether it was answered or not
	} {
		t.Run(stall, func(t *testing.T) {
			dir := t.TempDir()
			ask := func(p *process, h *history, old, size int) int {
				n := note(t, h.checkpoint(size), op)
				_, got, err := p.client.add(t.Context(), Request{int64(old), h.prove(t, old, size), n})
				if errors.Is(err, errConflict) && got == int64(size) { // it has that size already: it may have that very tree
					_, _, err = p.client.add(t.Context(), Request{got, nil, n})
				}
				if s := (*StatusError)(nil); errors.As(err, &s) {
					return s.Status
				}
				if err != nil {
					return 0
				}
				return http.StatusOK
			}
			p := start(t, dir, "", op.Key())
			if got := ask(p, h, 0, 5); got != http.StatusOK {
				t.Fatal(got)
			}
			p.kill()
			p = start(t, dir, stall, op.Key())
			var asked sync.WaitGroup
			asked.Go(func() {
				if got := ask(p, h, 5, 9); got != 0 {
					t.Errorf("it was to be killed, and answered %d", got)
					p.kill() // nobody waits for it to stand still
				}
			})
			if got := p.line(t); got != stalled {
				t.Fatal(got)
			}
			p.kill()
			asked.Wait()
			p = start(t, dir, "", op.Key())
			if got := ask(p, fork, 5, 9); got != want.fork {
				t.Errorf("the other history: %d, want %d", got, want.fork)
			}
			if got := ask(p, h, 5, 9); got != want.h {
				t.Errorf("the one history: %d, want %d", got, want.h)
			}
		})
	}
}

// Two histories are pressed upon a witness at once, and it is killed after some answers, again and again.
func TestAWitnessThatIsKilledAgainAndAgainAnswersOneHistory(t *testing.T) {
	op := signer(t, 1)
	rounds := 12
	if testing.Short() {
		rounds = 4
	}
	const span = 25
	w := &world{operator: op}
	origin := checkpoint.Origin(op, "0123456789abcdef")
	for variant := range 2 {
		w.histories = append(w.histories, newHistory(t, origin, 5+span*rounds, 10, uint64(variant)))
	}
	rng := rand.New(rand.NewPCG(9, 9))
	dir := t.TempDir()
	var mu sync.Mutex
	var stated []cosigned
	for round := range rounds {
		p := start(t, dir, "", op.Key())
		left := 1 + rng.IntN(6) // answers until the kill
		var clients, killer sync.WaitGroup
		kill := make(chan struct{})
		enough := sync.OnceFunc(func() { close(kill) })
		killer.Go(func() {
			<-kill
			p.kill()
		})
		for _, h := range w.histories {
			for size := 5 + span*round; size < 5+span*(round+1); size += 1 + rng.IntN(4) {
				n := note(t, h.checkpoint(size), op)
				clients.Go(func() {
					_, err := p.client.Cosign(t.Context(), n, func(from int64) (tlog.TreeProof, error) {
						return tlog.ProveTree(n.Size, from, h)
					})
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						stated = append(stated, cosigned{int(n.Size), n.Root})
						if left--; left == 0 {
							enough()
						}
					}
				})
			}
		}
		clients.Wait()
		enough() // the rest was refused
		killer.Wait()
	}
	if len(stated) < rounds {
		t.Fatalf("%d answers", len(stated))
	}
	if err := w.consistent(slices.Clone(stated)); err != nil {
		t.Error(err)
	}
}
