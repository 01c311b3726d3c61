import type { PoolAccount, Variant } from './courier.js';
import { VARIANTS } from './courier.js';
import { megabytesPerSecond } from './format.js';
import { checkFiles, type DemoOptions } from './options.js';
import { OutputPlace } from './output-place.js';
import { Progress } from './progress.js';
import { type DemoReport, figuresOf, machine, type VariantFigures } from './report.js';
import { runVariant, type VariantResult } from './variant.js';
import { checksumsAgree, computeReference, gzipMatches, type Reference } from './verify.js';

interface VerifiedRun {
  readonly result: VariantResult;
  readonly figures: VariantFigures;
}

/**
 * Takes the files through worker threads in each variant, and verifies what comes out.
 *
 * @throws UsageError before anything starts where a file cannot be read or written; VariantError where a variant
 *   fails. No output is left then.
 */
export async function runDemo(options: DemoOptions, signal: AbortSignal): Promise<DemoReport> {
  const bytes = await checkFiles(options);
  const progress = new Progress();
  const place = options.job === 'gzip' ? await OutputPlace.choose(options.output) : undefined;
  try {
    const reference = await computeReference(
      options.files,
      options.blockBytes,
      progress.begin('one thread', bytes),
      signal,
    );
    const runs = {} as Record<Variant, VerifiedRun>;
    for (const variant of VARIANTS) {
      runs[variant] = await runAndVerify(variant, options, reference, place, progress, signal);
    }
    const report = makeReport(options, reference, runs, place);
    if (report.verified) await place?.commit();
    return report;
  } finally {
    progress.end();
    await place?.discard();
  }
}

async function runAndVerify(
  variant: Variant,
  options: DemoOptions,
  reference: Reference,
  outputPlace: OutputPlace | undefined,
  progress: Progress,
  signal: AbortSignal,
): Promise<VerifiedRun> {
  // Heddle's output is the one that is kept; the others' are looked at and removed.
  const place = variant === 'heddle' || !outputPlace ? outputPlace : await OutputPlace.choose(undefined);
  const { files, job, workers, blockBytes, killAtBlock } = options;
  try {
    const result = await runVariant(
      { variant, files, job, workers, blockBytes, killAtBlock, writingPath: place?.writingPath },
      progress.begin(`${job}, ${variant}`, reference.bytes),
      signal,
    );
    const verified =
      checksumsAgree(reference, result) &&
      (!place?.readable ||
        (await gzipMatches(
          place.writingPath,
          files,
          progress.begin(`verifying, ${variant}`, reference.bytes),
          signal,
        )));
    return { result, figures: figuresOf(result, verified) };
  } finally {
    if (place !== outputPlace) await place?.discard();
  }
}

function makeReport(
  options: DemoOptions,
  reference: Reference,
  runs: Readonly<Record<Variant, VerifiedRun>>,
  place: OutputPlace | undefined,
): DemoReport {
  const pool = runs.heddle.result.account as PoolAccount;
  const { wallMs, cpuMs, bytes } = reference;
  const checks = [
    'the checksum of each block and of the whole equals the one computed on one thread',
    ...(place?.readable ? ['the output, decompressed, equals the input byte for byte'] : []),
    ...(place && !place.readable ? ['the output cannot be read back'] : []),
  ];
  const figures = (variant: Variant) => runs[variant].figures;
  return {
    files: options.files,
    bytes,
    blocks: reference.blockCrcs.length,
    job: options.job,
    workers: options.workers,
    blockBytes: options.blockBytes,
    crc32: reference.crc.toString(16).padStart(8, '0'),
    output: options.output ?? null,
    verified: VARIANTS.every((variant) => figures(variant).verified) && pool.outstanding === 0,
    verification: checks.join('; '),
    outstanding: pool.outstanding,
    pool,
    machine: machine(),
    oneThread:
      options.job === 'checksum'
        ? { wallMs, cpuMs, megabytesPerSecond: megabytesPerSecond(bytes, wallMs) }
        : null,
    variants: { heddle: figures('heddle'), clone: figures('clone'), transfer: figures('transfer') },
  };
}
