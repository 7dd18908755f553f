package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"curtsy/cmd/curtsy/cli"
)

// Whatever reads a file that is named refuses a device that never ends, in place of reading until the memory is full. In
// each command line FILE is the device. Of package userfile are the kinds of devices.
func TestADeviceThatNeverEndsIsReadByNothing(t *testing.T) {
	t.Parallel()
	seed, _ := small(t)
	base := t.TempDir()
	d := filepath.Join(base, "d")
	inside(t, "crawl", "--quiet", "--delay", "0", "--dir", d, seed).want(t, cli.ExitDone)
	for i, line := range []string{
		"crawl --dir NEW --config FILE URL", "crawl --dir NEW --ca-file FILE URL", "crawl --dir NEW --seeds FILE", "crawl --dir NEW --opt-out FILE URL",
		"frontier add --seeds FILE D", "frontier import NEW FILE", "warc ls FILE", "warc cat FILE 0", "warc check FILE", "warc index FILE",
		"mirror rebuild -o NEW FILE", "robots check --config FILE URL", "robots check --file FILE URL", "robots lint FILE", "robots diff FILE FILE",
		"audit FILE", "audit --access-log FILE D", "audit --access-log FILE --robots FILE --agent x",
	} {
		for _, device := range []string{"/dev/zero", "/dev/full", "/dev/urandom"}[:max(1, 3-i)] {
			fill := strings.NewReplacer("FILE", device, "NEW", filepath.Join(base, "new"), "URL", seed, " D", " "+d)
			r := inside(t, strings.Fields(fill.Replace(line))...)
			if r.code != cli.ExitUsage && r.code != cli.ExitFailed || !strings.Contains(r.err, device) || !strings.Contains(r.err, "regular file") {
				t.Errorf("%s: exit code %d: %s", fill.Replace(line), r.code, r.err)
			}
		}
	}
}

// A pipe is read as a file is: it is what a shell makes of <(command). The empty device is an empty file.
func TestAPipeIsReadAndTheEmptyDeviceIsEmpty(t *testing.T) {
	t.Parallel()
	seed, _ := small(t)
	base := t.TempDir()
	pipe := filepath.Join(base, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for option, text := range map[string]string{"--seeds": seed + "\n", "--config": "max-pages = 2\n"} {
		go func() { _ = os.WriteFile(pipe, []byte(text), 0o600) }() // waits for its reader
		args := []string{"crawl", "--delay", "0", "--dir", filepath.Join(base, option), option, pipe}
		if option == "--config" {
			args = append(args, seed)
		}
		inside(t, args...).want(t, cli.ExitDone)
	}
	inside(t, "crawl", "--delay", "0", "--config", os.DevNull, "--dir", filepath.Join(base, "null"), seed).want(t, cli.ExitDone)
}
