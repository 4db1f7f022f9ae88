package config_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pnyx/config"
)

func TestByteSizeReadsWholeNumbersWithBinaryUnits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]config.ByteSize{
		"0":                   0,
		"1":                   1,
		"0512":                512,
		"7B":                  7,
		"64KiB":               64 << 10,
		"8MiB":                8 << 20,
		"4GiB":                4 << 30,
		"3TiB":                3 << 40,
		"8388607TiB":          8388607 << 40,
		"9223372036854775807": math.MaxInt64,
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			var got config.ByteSize
			if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
				t.Errorf("got %d, %v; want %d", got, err, want)
			}
		})
	}
}

func TestByteSizeRejectsOtherText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " ", "B", "GiB", "-1", "+1", "1.5GiB", "1e3", "1_000", "0x10", "4 GiB", " 4GiB", "4GiB ", "4GB", "4Gi", "4gib",
		"4GiBB", "4GiB4", "٤", "8388608TiB", "9223372036854775808", "9007199254740992KiB",
	} {
		got := config.ByteSize(42)
		err := got.UnmarshalText([]byte(text))
		if err == nil || got != 42 || !strings.Contains(err.Error(), "8MiB") {
			t.Errorf("%q: got %d, %v; want an error with an example, and 42 left alone", text, got, err)
		}
	}
}

func TestByteSizeIsWrittenInItsLargestWholeUnit(t *testing.T) {
	t.Parallel()
	for size, want := range map[config.ByteSize]string{
		0: "0B", 1: "1B", 1000: "1000B", 1024: "1KiB", 1536: "1536B", 3 << 19: "1536KiB", 4 << 30: "4GiB", 2 << 50: "2048TiB",
	} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			t.Parallel()
			if got := size.String(); got != want {
				t.Errorf("%d bytes: got %s, want %s", int64(size), got, want)
			}
		})
	}
}

func FuzzByteSizeIsReadAsItWasWritten(f *testing.F) {
	for _, seed := range []string{"", "0", "1", "7B", "64KiB", "8MiB", "4GiB", "3TiB", "8388608TiB", "-1", "1.5GiB", "4GB", "KiB"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var size, again config.ByteSize
		if size.UnmarshalText([]byte(text)) != nil {
			return
		}
		if size < 0 {
			t.Fatalf("%q: got %d, want nothing below 0", text, int64(size))
		}
		if err := again.UnmarshalText([]byte(size.String())); err != nil || again != size {
			t.Fatalf("%q: got %d, %v from %s, want %d", text, int64(again), err, size, int64(size))
		}
	})
}
