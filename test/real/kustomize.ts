import { goProgram } from './go-program.ts'

/** The path of kustomize, which is built from its Go module. */
export const kustomizeProgram = () => goProgram('kustomize', 'sigs.k8s.io/kustomize/kustomize/v5')
