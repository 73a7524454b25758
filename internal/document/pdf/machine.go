package pdf

import (
	"context"
	"strings"
	"sync"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/emscripten"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/mcp-tools/mcp-tools/internal/document/pdf/wasm"
)

// Prepare fills dir with PDFium in machine code. It takes seconds.
func Prepare(ctx context.Context, dir string) error {
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return err
	}
	defer cache.Close(ctx)
	runtime := wazero.NewRuntimeWithConfig(ctx, runtimeConfig(wasmPages).WithCompilationCache(cache))
	defer runtime.Close(ctx)
	code, err := wasm.Module()
	if err == nil {
		_, err = runtime.CompileModule(ctx, code)
	}
	return err
}

func runtimeConfig(pages uint32) wazero.RuntimeConfig {
	return wazero.NewRuntimeConfig().WithCloseOnContextDone(true).WithMemoryLimitPages(pages)
}

// A machine is PDFium in machine code. Each file that it opens has an instance with its own memory.
type machine struct {
	runtime wazero.Runtime
	cache   wazero.CompilationCache
	module  wazero.CompiledModule
	open    sync.Map // api.Module -> *pdfium
}

// newMachine loads PDFium that [Prepare] has compiled into dir. An instance has at most pages of 64 KB.
func newMachine(ctx context.Context, dir string, pages uint32) (*machine, error) {
	cache, err := wazero.NewCompilationCacheWithDir(dir)
	if err != nil {
		return nil, err
	}
	m := &machine{cache: cache, runtime: wazero.NewRuntimeWithConfig(ctx, runtimeConfig(pages).WithCompilationCache(cache))}
	if err := m.load(ctx); err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

func (m *machine) load(ctx context.Context) error {
	code, err := wasm.Module()
	if err != nil {
		return err
	}
	if m.module, err = m.runtime.CompileModule(ctx, code); err != nil {
		return err
	}
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, m.runtime); err != nil {
		return err
	}
	env := m.runtime.NewHostModuleBuilder("env")
	exporter, err := emscripten.NewFunctionExporterForModule(m.module)
	if err != nil {
		return err
	}
	exporter.ExportFunctions(env)
	for _, f := range m.module.ImportedFunctions() {
		// Of the callbacks of PDFium only those for files are used.
		_, name, _ := f.Import()
		if !strings.HasSuffix(name, "_CB") {
			continue
		}
		var callback func(*pdfium, api.Module, []uint64)
		switch name {
		case "FPDF_FILEACCESS_CB":
			callback = (*pdfium).block
		case "FPDF_FILEWRITE_CB":
			callback = (*pdfium).written
		}
		env.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, module api.Module, stack []uint64) {
			if p, ok := m.open.Load(module); ok && callback != nil {
				callback(p.(*pdfium), module, stack)
			} else if len(stack) > 0 {
				stack[0] = 0
			}
		}), f.ParamTypes(), f.ResultTypes()).Export(name)
	}
	_, err = env.Instantiate(ctx)
	return err
}

func (m *machine) close() {
	ctx := context.Background()
	_ = m.runtime.Close(ctx)
	_ = m.cache.Close(ctx)
}

// block hands a part of the file to PDFium: (param, position, buffer, size) -> 1, or 0 for a failure.
func (p *pdfium) block(module api.Module, stack []uint64) {
	position, buffer, size := uint32(stack[1]), uint32(stack[2]), uint32(stack[3])
	stack[0] = 0
	memory, ok := module.Memory().Read(buffer, size)
	if !ok {
		return
	}
	if n, _ := p.data.ReadAt(memory, int64(position)); n == len(memory) {
		stack[0] = 1
	}
}
