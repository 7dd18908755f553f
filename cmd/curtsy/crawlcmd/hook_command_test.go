package crawlcmd

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hookChild makes the test binary the command that hooks run: its first argument says what it does.
func hookChild() {
	switch os.Args[1] {
	case "tell": // writes its arguments, and what it knows, into a file
		b, _ := json.Marshal([][]string{os.Args[3:], os.Environ()})
		if os.WriteFile(os.Args[2], b, 0o600) != nil {
			os.Exit(9)
		}
		os.Exit(0)
	case "fail":
		fmt.Fprintf(os.Stderr, "%s\nno \x1b[2Jmail today\n", strings.Repeat("x", 9000))
		os.Exit(3)
	case "hang": // with a child that would outlive it
		if exec.Command(os.Args[0], "stay", os.Args[2]).Start() != nil {
			os.Exit(9)
		}
		select {}
	case "stay": // deaf to the wish that it ends; its connection lasts as long as it does
		signal.Ignore(syscall.SIGTERM)
		c, err := net.Dial("tcp", os.Args[2])
		if err != nil {
			os.Exit(9)
		}
		if _, err := c.Write([]byte{1}); err != nil {
			os.Exit(9)
		}
		select {}
	}
}

// command is one that runs the test binary.
func command(t *testing.T, args string) Command {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	c, err := parse(`"` + self + `" ` + args)
	require.NoError(t, err)
	return c
}

// What comes from the web stays in its argument, whatever is in it, begins no option, and is one line.
func TestFactsStayInTheirArguments(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	c := command(t, `tell "`+out+`" 'two words' "--body={message}" {message} {state} 'a {dir} b' "" {exit}{exit} {"json":1}`)
	hostile := "$(reboot) `x`; \"rm\" 'rf' \x1b[2J\n--config /etc/passwd {dir}"
	err := c.Run(t.Context(), hookFacts{"message": hostile, "state": "--help", "dir": "/a b", "exit": "4"})
	require.NoError(t, err)
	b, err := os.ReadFile(out)
	require.NoError(t, err)
	var told [][]string
	require.NoError(t, json.Unmarshal(b, &told))
	plain := "$(reboot) `x`; \"rm\" 'rf' \\x1b[2J\\n--config /etc/passwd {dir}"
	want := []string{"two words", "--body=" + plain, plain, " --help", "a /a b b", "", "44", "{json:1}"}
	if !slices.Equal(told[0], want) {
		t.Errorf("%q\nwant %q", told[0], want)
	}
	for _, e := range []string{"CURTSY_EVENT_MESSAGE=" + plain, "CURTSY_EVENT_EXIT=4", "CURTSY_EVENT_DIR=/a b"} {
		assert.Contains(t, told[1], e, "the environment")
	}
}

func TestACommandThatFailsSaysWhatItSaidLast(t *testing.T) {
	err := command(t, "fail").Run(t.Context(), hookFacts{})
	if err == nil || !strings.HasPrefix(err.Error(), "--on-end ") || len(err.Error()) > 800 ||
		!strings.Contains(err.Error(), "exit status 3: xxxx") || !strings.HasSuffix(err.Error(), `xxxx no \x1b[2Jmail today`) {
		t.Errorf("%v", err)
	}
}

// A command that takes too long is ended, with all that it has started.
func TestACommandEndsWithAllThatItStarted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("what a command started is out of reach there")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	ctx, cancel := context.WithCancel(t.Context())
	c := command(t, `hang `+l.Addr().String())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, hookFacts{}) }()
	child, err := l.Accept()
	require.NoError(t, err)
	defer child.Close()
	if _, err := io.ReadFull(child, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "it was ended: context canceled") {
		t.Errorf("%v", err)
	}
	_, _ = io.Copy(io.Discard, child) // until the child is no more: the system closes or resets what it held
}

func TestAWrongCommandIsRefusedAtOnce(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "is empty",
		"  ":                           "is empty",
		`"" x`:                         "is empty",
		"no-such-program-here {dir}":   "no command no-such-program-here can be run",
		"/no/such {dir}":               "no command /no/such can be run",
		"{dir} x":                      "the command itself is fixed",
		"mail 'x":                      "a quote ' has no end",
		`mail "x`:                      `a quote " has no end`,
		"mail {mesage}":                "unknown {mesage}; did you mean {message}?",
		"mail {host}":                  "unknown {host}; there are {dir}, {state}",
		"mail \x00":                    "zero byte",
		"mail --subject={ended_byy} x": "did you mean {ended_by}?",
	} {
		if _, err := parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzSplit(f *testing.F) {
	f.Add(`mail -s "a b" 'c "d"' e""f`)
	f.Fuzz(func(t *testing.T, text string) {
		args, err := split(text)
		if err != nil {
			return
		}
		var again strings.Builder
		for _, a := range args {
			for i, part := range strings.Split(a, "'") { // each quote in quotes of the other kind
				if i > 0 {
					again.WriteString(`"'"`)
				}
				again.WriteString("'" + part + "'")
			}
			again.WriteByte(' ')
		}
		if got, err := split(again.String()); err != nil || !slices.Equal(got, args) {
			t.Fatalf("%q is %q, and %q is %q, %v", text, args, again.String(), got, err)
		}
	})
}
