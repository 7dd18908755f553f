package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
)

// sampleEvery is how many octets are allocated, on average, for one of them to be noted down in a profile of allocations.
const sampleEvery = 16 << 10

// Profile writes two profiles of what goes on until stop, if there is a path for them: of the processor, and of what is
// allocated.
func Profile(path string) (stop func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	runtime.MemProfileRate = sampleEvery
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return errors.Join(f.Close(), saveAllocs(strings.TrimSuffix(path, ".pprof")+".allocs.pprof"))
	}, nil
}

func saveAllocs(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	runtime.GC() // what was allocated counts from the cycle before
	if err = pprof.Lookup("allocs").WriteTo(f, 0); err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return errors.Join(err, f.Close())
}
