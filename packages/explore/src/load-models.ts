import { pathToFileURL } from 'node:url';
import { defineModel, type Model } from './model.js';

/** A model and the file that it comes from. */
export interface LoadedModel {
  readonly file: string;
  readonly model: Model;
}

/**
 * The models of a file: its default export, or its export `models`, each one model or a list.
 *
 * @throws TypeError where it exports none.
 */
export async function loadModels(file: string): Promise<LoadedModel[]> {
  const module = (await import(pathToFileURL(file).href)) as { default?: unknown; models?: unknown };
  const exported = module.default ?? module.models;
  if (exported === undefined) throw new TypeError(`${file} exports neither a default nor "models"`);
  const list = (Array.isArray(exported) ? exported : [exported]) as Model[];
  return list.map((model) => ({ file, model: defineModel(model) }));
}
