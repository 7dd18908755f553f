// Command wine writes a library that Wine before 9 lacks and programs of Go need: bcryptprimitives.dll. It holds no
// code, only the name ProcessPrng, which it forwards to a function of advapi32.dll with the same arguments.
//
//	go run ./.ci/wine "$WINEPREFIX/drive_c/windows/system32/bcryptprimitives.dll"
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
)

const (
	headers = 0x200  // size of all headers, and where the section stands in the file
	rva     = 0x1000 // where it stands in memory
	section = 0x200
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: wine FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], library(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// library is a library as Microsoft's "PE Format" has it.
func library() []byte {
	var b bytes.Buffer
	put := func(values ...any) {
		for _, v := range values {
			binary.Write(&b, binary.LittleEndian, v) // into memory
		}
	}
	upTo := func(n int) { b.Write(make([]byte, n-b.Len())) }

	put([]byte("MZ"))
	upTo(0x3c)
	put(uint32(0x40), []byte("PE\x00\x00"))
	put(uint16(0x8664), uint16(1), [3]uint32{}, uint16(240), uint16(0x2022)) // for x64, one section, a library

	put(uint16(0x20b), uint16(0), [3]uint32{0, section, 0}, uint32(0), uint32(rva)) // PE32+, no entry point
	put(uint64(0x180000000), uint32(0x1000), uint32(headers))
	put(uint16(6), uint16(0), uint16(0), uint16(0), uint16(6), uint16(0), uint32(0))
	put(uint32(2*rva), uint32(headers), uint32(0), uint16(2), uint16(0x140))
	put([4]uint64{0x100000, 0x1000, 0x100000, 0x1000}, uint32(0), uint32(16))
	put(uint32(rva), uint32(0x100), [15]uint64{}) // the directory of exports, which holds the text that is forwarded to

	put([8]byte{'.', 'e', 'd', 'a', 't', 'a'}, uint32(section), uint32(rva), uint32(section), uint32(headers))
	put(uint32(0), uint32(0), uint32(0), uint32(0x40000040)) // data, read only
	upTo(headers)

	const tables, names = rva + 40, rva + 60
	name, function, to := "bcryptprimitives.dll\x00", "ProcessPrng\x00", "advapi32.SystemFunction036\x00"
	functionAt := names + uint32(len(name))
	put([3]uint32{}, uint32(names), uint32(1), uint32(1), uint32(1), uint32(tables), uint32(tables+4), uint32(tables+8))
	put(functionAt+uint32(len(function)), functionAt, uint16(0)) // an address among the exports is a text
	upTo(headers + names - rva)
	put([]byte(name + function + to))
	upTo(headers + section)
	return b.Bytes()
}
